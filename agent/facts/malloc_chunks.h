// SPDX-License-Identifier: Apache-2.0
//
// Where the heap of glibc's malloc is damaged: its chunks follow one another, each with
// its size in front, so a walk from the first one ends at a size that cannot be. The
// chunk before it is the one that was written past its end, in most cases.
//
// Where no size is damaged, a freed block may be: the lists of free blocks that the
// first chunk of a heap has (tcache) lead through the first word of each, so a word
// that leads nowhere was written after the block was freed.
//
// The walk needs no symbols of the C library and is the same in static programs. It is
// made only after malloc has reported damage, and at most HEAP_CHUNKS_BYTES of heap are
// read, which is named in docs/reference/crash-kinds.md.
#pragma once
#include "agent/live/capture.h"
#include "report/summary/crash_facts.h"

enum {
    HEAP_CHUNKS_BYTES = 1 << 20,
    HEAP_CHUNKS_TEXT = 64, // of a chunk's content, with the NUL
};

// A malloc_chunks is what was found; chunk points into it.
struct malloc_chunks {
    struct crash_chunk chunk; // of address 0: no damage was found
    char value[2 * sizeof(uint64_t)];
    char content[HEAP_CHUNKS_TEXT];
};

// malloc_chunks_find walks the heaps of capture. texts: what looks like text may be
// stored.
void malloc_chunks_find(const struct capture *capture, bool texts,
                        struct malloc_chunks *out);
