// SPDX-License-Identifier: Apache-2.0
//
// Jitdump, version 1: a binary file in which a program records the code that it
// compiles while it runs, where it moves, and the code itself (the kernel's
// tools/perf/Documentation/jitdump-specification.txt).
//
// A record cannot reach past its own size; records of other kinds are passed over.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"

enum jitdump_kind { JITDUMP_LOAD, JITDUMP_MOVE };

struct jitdump_record {
    enum jitdump_kind kind;
    uint64_t start;
    uint64_t size;
    uint64_t index;   // of the code, the same wherever it moves
    const char *name; // JITDUMP_LOAD: name_size bytes of the input
    size_t name_size;
};

// jitdump_open reads the header, which also tells the byte order. CH_ERR_UNSUPPORTED:
// it is of another version, or no jitdump at all.
CH_CHECKED enum ch_status jitdump_open(struct cursor *c);

// jitdump_next reads the next record of either kind. CH_END: there are no more, or the
// rest is not written yet. CH_ERR_MALFORMED: it contradicts the format.
CH_CHECKED enum ch_status jitdump_next(struct cursor *c, struct jitdump_record *out);

// Perf maps: text files in which a program lists the code that it compiled while it
// ran, as Linux's perf reads them. A line is a start and a size in hexadecimal, and a
// name that may contain spaces. Later lines replace earlier ones where code was moved.

struct perf_map_entry {
    uint64_t start;
    uint64_t size;
    const char *name; // name_size bytes of the input
    size_t name_size;
};

// perf_map_next reads the next line that has the form; others are passed over. CH_END:
// there are no more.
CH_CHECKED enum ch_status perf_map_next(struct cursor *c, struct perf_map_entry *out);
