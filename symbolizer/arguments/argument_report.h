// SPDX-License-Identifier: Apache-2.0
//
// The arguments of a report's frames: each from the best that is there, and each says
// what it rests on. Those of the crashed thread come first; what goes beyond
// ARGUMENT_REPORT_CALLS_MAX frames goes without, so that a thousand threads cost no
// more than some.
#pragma once
#include <jansson.h>

#include "report/held_file.h"
#include "symbolizer/names/report_images.h"
#include "symbolizer/names/symbolizer_options.h"

enum { ARGUMENT_REPORT_CALLS_MAX = 1024 };

// argument_report_all gives for each thread of report an array of {"frame",
// "arguments"} as a new array. NULL: there is no memory for it.
json_t *argument_report_all(const json_t *report, struct held_file *held,
                            const struct report_images *images,
                            const struct symbolizer_options *options);

// argument_report_write puts what argument_report_all gave into report.
// CH_ERR_MALFORMED: it is not of that form.
CH_CHECKED enum ch_status argument_report_write(json_t *report, const json_t *all);
