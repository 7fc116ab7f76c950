// SPDX-License-Identifier: Apache-2.0
//
// Why a report was refused, in one line: "threads[2].tid is not a number".
//
// Checks word what is wrong where they find it, and those around them where that was.
// A text that is longer than the line is cut. Users: what reads and opens reports.
#pragma once
#include <stddef.h>

#include "base/status.h"

struct report_error {
    char text[256];
};

// report_error_set words the error as printf would.
void report_error_set(struct report_error *error, const char *format, ...)
    CH_PRINTF(2, 3);

// report_error_within puts where[index] in front of what an inner check said.
void report_error_within(struct report_error *error, const char *where, size_t index);
