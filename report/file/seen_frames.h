// SPDX-License-Identifier: Apache-2.0
//
// The frames of a report that a pass over its threads has handled: threads share
// frames, so a pass meets most of them a thousand times.
//
// The set is of a fixed size and forgets when it is full; a pass then handles a frame
// once more. A frame may be in several slots: with one alone, two frames of every
// thread's stack that fall on it would displace each other at each thread.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEEN_FRAMES_MAX = 1024, SEEN_FRAMES_TRIES = 8 };

struct seen_frames {
    const json_t *slots[SEEN_FRAMES_MAX];
};

// seen_frames_slot is where frame is, or where it is to be put.
static inline const json_t **seen_frames_slot(struct seen_frames *seen,
                                              const json_t *frame)
{
    // Fibonacci hashing: the factor is 2^64 divided by the golden ratio.
    size_t first = (size_t)(((uint64_t)(uintptr_t)frame * 0x9e3779b97f4a7c15) >> 32);
    const json_t **slot = NULL;
    for (size_t i = 0; i < SEEN_FRAMES_TRIES; i++) {
        slot = &seen->slots[(first + i) % SEEN_FRAMES_MAX];
        if (*slot == frame || *slot == NULL)
            break;
    }
    return slot;
}
