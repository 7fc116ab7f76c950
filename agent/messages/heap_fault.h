// SPDX-License-Identifier: Apache-2.0
//
// What a program's guarded allocations (shared/heap_pool.h) tell of its crash: the
// block that an address belongs to, how it was misused, and the stacks of its
// allocation and free.
//
// It is found by the fault's address: in a block's slot, in the guard page next to one,
// or at the pool's trap, which a call of free writes to after it found an error.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/live/capture.h"
#include "report/summary/crash_facts.h"
#include "shared/heap_pool.h"

struct heap_fault {
    enum crash_kind kind; // CRASH_KIND_NONE: the crash is not about a guarded block
    const char *found_by; // the call of free that found it; NULL: an access did
    uint64_t address;     // accessed, freed, or overwritten
    struct heap_block block;
};

// heap_state_is_sane and heap_event_is_sane check what a corrupt process may have
// written.
bool heap_state_is_sane(const struct heap_state *state);
bool heap_event_is_sane(const struct heap_event *event);

// heap_fault_find looks for the block of a fault at address.
void heap_fault_find(struct capture *capture, uint64_t address, struct heap_fault *out);

// heap_fault_read looks in the state at an address.
void heap_fault_read(const struct memory_reader *reader, uint64_t state,
                     uint64_t address, struct heap_fault *out);

// heap_fault_facts makes the facts of it.
void heap_fault_facts(const struct heap_fault *fault, uint64_t crash_realtime_ns,
                      struct crash_heap *out);
