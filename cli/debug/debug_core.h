// SPDX-License-Identifier: Apache-2.0
//
// A core file made from a report: its threads with their registers, the memory that it
// has, and which files were mapped where. What the report does not have is not in the
// core: a debugger says that it cannot read it. User: debug.c.
#pragma once
#include <jansson.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

// debug_range is a part of a file that was mapped, and that the process could not
// write: then the file has the bytes that the process had.
struct debug_range {
    uint64_t start;
    uint64_t end;
    uint64_t offset;  // in the file, a multiple of DEBUG_PAGE
    const char *path; // lives as long as the range
};

enum { DEBUG_PAGE = 4096 };

struct debug_ranges {
    struct debug_range *list;
    size_t count;
    size_t capacity;
};

// debug_core_write appends the core of a report in expanded form. CH_ERR_UNSUPPORTED:
// it has no registers, or those of a processor that is not known here.
CH_CHECKED enum ch_status debug_core_write(const json_t *report,
                                           const struct debug_ranges *ranges,
                                           struct text *out);
