// SPDX-License-Identifier: Apache-2.0
//
// The values in a report: the arguments of its frames, and the objects that the program
// watches, made from the memory that was copied while the process was held
// (docs/types.md).
//
// This is done once, while that memory is available; the copies are not kept. Debug
// information is read in a guarded child, so that the report survives any failure.
#pragma once
#include <stddef.h>

#include <jansson.h>

#include "base/status.h"
#include "symbolizer/symbolizer.h"

// report_values_add adds the values that held, a held_file of size bytes, provides to
// report. Failures are added to the report's problems.
void report_values_add(json_t *report, const struct symbolizer_options *options,
                       const void *held, size_t size);
