// SPDX-License-Identifier: Apache-2.0
//
// Why a report was refused, in one line: "threads[2].tid is not a number".
//
// A check words the failure where it finds it, and its callers add where that was. A
// text that is longer than the line is cut. Users: code that reads and opens reports.
#pragma once
#include <stddef.h>

#include "base/status.h"

struct report_error {
    char text[256];
};

// report_error_set formats the error like printf.
void report_error_set(struct report_error *error, const char *format, ...)
    CH_PRINTF(2, 3);

// report_error_within puts where[index] in front of the error of an inner check.
void report_error_within(struct report_error *error, const char *where, size_t index);
