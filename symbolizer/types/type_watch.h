// SPDX-License-Identifier: Apache-2.0
//
// The watched objects of a report: each one's type is looked for in the image of the
// code that asked for it, and its bytes are written by that type.
#pragma once
#include <jansson.h>

#include "report/held_file.h"
#include "symbolizer/names/report_images.h"
#include "symbolizer/names/symbolizer_options.h"

// type_watch_all gives the report's member `watches` as a new array. NULL: there is no
// memory for it.
json_t *type_watch_all(struct held_file *held, const struct report_images *images,
                       const struct symbolizer_options *options);
