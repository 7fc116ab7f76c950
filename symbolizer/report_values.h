// SPDX-License-Identifier: Apache-2.0
//
// The values in a report: the arguments of its frames, and the objects that the program
// wanted to be shown, out of what was copied while it was held (docs/types.md).
//
// It is done once, while those copies are still there; they go nowhere else. Debug
// information is read in a guarded child: whatever happens to that, the report stays.
#pragma once
#include <stddef.h>

#include <jansson.h>

#include "base/status.h"
#include "symbolizer/symbolizer.h"

// report_values_add puts into report what held, a held_file of size bytes, lets it say.
// What failed is among the report's problems.
void report_values_add(json_t *report, const struct symbolizer_options *options,
                       const void *held, size_t size);
