// SPDX-License-Identifier: Apache-2.0
//
// Where libcrashhook-heap keeps its guarded allocations, and the agent finds them.
//
// The pool is one mapping: slot 0 begins a page after base, and each slot is followed
// by a guard page. The last page is the trap: a program whose call of free shows an
// error is ended by a write to it, and a struct heap_failure says what was found. Each
// slot has a struct heap_block in a mapping of its own.
//
// A profile of the live heap is made of the live blocks and, if allocations are
// sampled, of those that got no slot, which have a table of their own.
//
// The state is found by a note (place_note.h). All of it is read from a process that
// may be corrupt.
#pragma once
#include <stdint.h>

enum {
    HEAP_SLOT_BYTES = 64 << 10, // the largest allocation that is guarded
    HEAP_FRAMES = 32,
    HEAP_CBF_BYTES = 312, // HEAP_FRAMES frames that are far from each other
    HEAP_NAME_BYTES = 16,
    HEAP_LIVE_PLACES = 4096,
    HEAP_SLOTS_OF_EVERY = 16384, // where each allocation is guarded, unless told
    HEAP_SLOTS_MAX = 1 << 20,
    HEAP_MAPS_PER_SLOT = 4, // two are used, and as many left to the program
};

// HEAP_SUMMARY_VARIABLE names a file to which each process appends, when it exits and
// if every allocation is guarded: its id, how many slots it had, allocations that were
// guarded, and not, blocks that are allocated, their bytes, the program's name.
#define HEAP_SUMMARY_VARIABLE "_CRASHHOOK_HEAP_SUMMARY"

// A heap_status is what a slot is used for. HEAP_BUSY: it is changing.
enum heap_status { HEAP_UNUSED, HEAP_BUSY, HEAP_LIVE, HEAP_FREED };

// A heap_origin is the family of functions that a block was allocated or freed by.
enum heap_origin { HEAP_BY_MALLOC, HEAP_BY_NEW, HEAP_BY_NEW_ARRAY, HEAP_ORIGINS };

// A heap_event is an allocation or a free.
struct heap_event {
    uint64_t realtime_ns; // 0: it has not happened
    uint32_t tid;
    uint16_t cbf_size; // 0: the stack is not known
    uint8_t origin;    // enum heap_origin
    uint8_t unused;
    char name[HEAP_NAME_BYTES]; // that the thread gave itself; empty: not known
    uint8_t cbf[HEAP_CBF_BYTES];
};

struct heap_block {
    uint32_t status; // enum heap_status
    uint32_t bytes;  // that are mapped: whole pages from the slot's start on
    uint64_t address;
    uint64_t size;   // that was asked for
    uint64_t caller; // return address of the call that allocated it
    struct heap_event allocated;
    struct heap_event freed;
};

// A heap_live is a live sampled allocation that is in no slot.
struct heap_live {
    uint64_t address; // 0: the place is free; HEAP_LIVE_BUSY: it is being written
    uint64_t size;    // that was asked for
    struct heap_event allocated;
};

enum { HEAP_LIVE_BUSY = 1 };

// A heap_error is what a call of free found.
enum heap_error {
    HEAP_NO_ERROR,
    HEAP_DOUBLE_FREE,
    HEAP_INVALID_FREE,
    HEAP_MISMATCHED_FREE,
    HEAP_DAMAGE_BEFORE, // bytes before the block were overwritten
    HEAP_DAMAGE_AFTER,
    HEAP_ERRORS
};

struct heap_failure {
    uint32_t error;   // enum heap_error
    uint32_t origin;  // enum heap_origin: of the call that found it
    uint64_t address; // the argument of free, or the first overwritten byte
    uint64_t slot;
};

// Where in the trap a program writes tells which of these is meant, in units of
// HEAP_TRAP_BYTES: several threads may find errors at the same time.
enum { HEAP_FAILURES = 4, HEAP_TRAP_BYTES = 8 };

// A pool_mode is which allocations are guarded.
enum pool_mode { POOL_NO, POOL_SAMPLE, POOL_EVERY, POOL_MODES };

struct heap_state {
    uint32_t mode; // enum pool_mode
    uint32_t slots;
    uint64_t base;
    uint64_t bytes;
    uint64_t trap;
    uint64_t blocks; // address of slots structs heap_block
    uint64_t page_bytes;
    uint64_t guarded;   // allocations that were given a slot
    uint64_t refused;   // that would have been, but no slot or memory was free
    uint64_t failed;    // counts what was written to failures
    uint64_t rate;      // one in so many allocations is sampled; 1: every one
    uint64_t live;      // address of HEAP_LIVE_PLACES structs heap_live; 0: none
    uint64_t live_lost; // sampled allocations that are neither there nor in a slot
    struct heap_failure failures[HEAP_FAILURES];
};

// HEAP_STATE_BYTES is the size of struct heap_state, as a number for its note.
#define HEAP_STATE_BYTES 192
