// SPDX-License-Identifier: Apache-2.0
//
// Perf maps: text files in which a program lists the code that it compiled while it
// ran, as Linux's perf reads them. A line is a start and a size in hexadecimal, and a
// name that may contain spaces. Later lines replace earlier ones where code was moved.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"

struct perf_map_entry {
    uint64_t start;
    uint64_t size;
    const char *name; // name_size bytes of the input
    size_t name_size;
};

// perf_map_next reads the next line that has the form; others are passed over. CH_END:
// there are no more.
CH_CHECKED enum ch_status perf_map_next(struct cursor *c, struct perf_map_entry *out);
