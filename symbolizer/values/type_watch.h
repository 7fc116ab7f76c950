// SPDX-License-Identifier: Apache-2.0
//
// The watched objects of a report: each one's type is looked up in the image of the
// code that watched it, and its bytes are shown by that type.
#pragma once
#include <jansson.h>

#include "report/file/held_file.h"
#include "symbolizer/search/debug_search.h"
#include "symbolizer/search/report_images.h"

// type_watch_all gives the report's member `watches` as a new array. NULL: out of
// memory.
json_t *type_watch_all(struct held_file *held, const struct report_images *images,
                       const struct symbolizer_options *options);
