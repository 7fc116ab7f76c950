// SPDX-License-Identifier: Apache-2.0
//
// Where libcrashhook-throws keeps the stacks of the last exceptions that were thrown,
// and the agent finds them: a ring per thread of entries with the address of the thrown
// object and its stack in Compact Backtrace Format.
//
// The place is found by a note (place_note.h). An entry is valid while its size is not
// 0; the thread that owns the ring writes the size last. Rings of ended threads are
// given to new ones. All of it is read from a process that may be corrupt.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { THROW_RINGS = 64, THROW_ENTRIES = 8, THROW_CBF_BYTES = 488 };

struct throw_entry {
    uint64_t object;  // address of the thrown object
    uint64_t time_ns; // CLOCK_MONOTONIC
    uint32_t tid;
    uint32_t size; // of cbf; 0: none
    uint8_t cbf[THROW_CBF_BYTES];
};

struct throw_ring {
    uint32_t taken; // by a living thread
    uint32_t next;  // counts the entries that were written
    uint64_t unused;
    struct throw_entry entries[THROW_ENTRIES];
};

struct throw_state {
    uint32_t enabled;
    uint32_t missed; // throws of threads that found no free ring
    uint64_t unused;
    struct throw_ring rings[THROW_RINGS];
};

// THROW_STATE_BYTES is the size of struct throw_state, as a number for its note.
#define THROW_STATE_BYTES 263184

// A throws_find_function stores the stack of the last throw of object, and gives its
// size; 0: it is not known. libcrashhook-throws exports one, crashhook_throws_find.
typedef size_t throws_find_function(const void *object, uint8_t cbf[THROW_CBF_BYTES]);
