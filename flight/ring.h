// SPDX-License-Identifier: Apache-2.0
//
// Writing a thread's ring. This runs at every call of every instrumented function, in
// signal handlers and with any lock held. So it takes no lock, uses no heap and
// preserves errno and the vector registers; a signal handler that interrupts a write
// finds the ring busy, and its calls are counted as dropped.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "shared/counter.h"
#include "shared/flight_state.h"

enum ring_action { RING_ENTER, RING_EXIT, RING_TAIL_EXIT, RING_ENTER_ARGS };

enum { RING_FUNCTION_SIZE = 8, RING_METADATA_SIZE = 16 };

extern struct flight_state flight_state __attribute__((visibility("hidden")));

// ring_of_thread is the calling thread's ring; NULL: it has none (yet).
extern __thread struct flight_ring *ring_of_thread
    __attribute__((tls_model("initial-exec")));

// ring_blocks is the number of blocks of each thread's ring; 0: recording is off.
extern uint32_t ring_blocks __attribute__((visibility("hidden")));

// ring_claim gives the calling thread a ring, or NULL: recording is off, no ring is
// free, or the thread is ending.
struct flight_ring *ring_claim(void);

// ring_prepare makes room for a record of size bytes at tsc, and writes the records
// that must precede it: a new processor, a jump of the counter.
void ring_prepare(struct flight_ring *ring, uint64_t tsc, uint64_t size);

// ring_drop counts a record that interrupts the writing of another.
void ring_drop(struct flight_ring *ring);

// ring_begin_all starts recording with block_count blocks for each thread. false: there
// is not enough memory.
bool ring_begin_all(uint32_t block_count);

// ring_enter begins the writing of a record. false: it has to be dropped.
static inline bool ring_enter(struct flight_ring *ring)
{
    if (__builtin_expect(ring->busy != 0, 0)) {
        ring_drop(ring);
        return false;
    }
    ring->busy = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return true;
}

static inline void ring_leave(struct flight_ring *ring)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    ring->busy = 0;
}

// ring_fits returns true if a record can be written directly: there is room, its time
// difference fits, and the thread is still on the ring's processor.
static inline bool ring_fits(const struct flight_ring *ring, uint64_t tsc,
                             uint64_t size)
{
    return tsc - ring->last_tsc <= INT32_MAX && *ring->cpu_now == ring->cpu &&
           ring->at + (size - RING_FUNCTION_SIZE) <= ring->limit;
}

// ring_put writes a function's record at at, where there is room, and returns the
// address after it. The record is one store, so a crash leaves either all of it or
// nothing.
static inline uint64_t ring_put(struct flight_ring *ring, uint64_t at, uint32_t word,
                                uint64_t tsc)
{
    uint64_t record = word | (tsc - ring->last_tsc) << 32;
    __atomic_store_n((uint64_t *)(uintptr_t)at, record, __ATOMIC_RELAXED);
    ring->last_tsc = tsc;
    return at + RING_FUNCTION_SIZE;
}

// ring_finish writes the record of function id, which fits, and ends the writing.
static inline void ring_finish(struct flight_ring *ring, enum ring_action action,
                               uint32_t id, uint64_t tsc)
{
    uint64_t at = ring_put(ring, ring->at, id << 4 | (uint32_t)action << 1, tsc);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    ring->at = at;
    ring_leave(ring);
}

// ring_record records that function id was entered or left.
static inline void ring_record(struct flight_ring *ring, enum ring_action action,
                               uint32_t id)
{
    if (!ring_enter(ring))
        return;
    uint64_t tsc = counter_read();
    if (!ring_fits(ring, tsc, RING_FUNCTION_SIZE))
        ring_prepare(ring, tsc, RING_FUNCTION_SIZE);
    ring_finish(ring, action, id, tsc);
}

// ring_record_argument records that function id was entered with this first argument.
void ring_record_argument(struct flight_ring *ring, uint32_t id, uint64_t argument);
