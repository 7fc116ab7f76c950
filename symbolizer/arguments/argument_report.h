// SPDX-License-Identifier: Apache-2.0
//
// The arguments of a report's frames, each from the best source available, and each
// with that source. The crashed thread's come first; frames beyond
// ARGUMENT_REPORT_CALLS_MAX get none, so that a thousand threads take no longer than a
// few.
#pragma once
#include <jansson.h>

#include "report/held_file.h"
#include "symbolizer/names/report_images.h"
#include "symbolizer/names/symbolizer_options.h"

enum { ARGUMENT_REPORT_CALLS_MAX = 1024 };

// argument_report_all gives a new array with, for each thread of report, an array of
// {"frame", "arguments", "locals"}. NULL: out of memory. out_fault is crash.variable
// (argument_fault.h), or NULL.
json_t *argument_report_all(const json_t *report, struct held_file *held,
                            const struct report_images *images,
                            const struct symbolizer_options *options,
                            json_t **out_fault);

// argument_report_write adds the result of argument_report_all to report.
// CH_ERR_MALFORMED: it does not have that form.
CH_CHECKED enum ch_status argument_report_write(json_t *report, const json_t *all);
