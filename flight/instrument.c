// SPDX-License-Identifier: Apache-2.0
//
// The functions that code compiled with -finstrument-functions calls.
#include "flight/functions.h"
#include "flight/ring.h"

#define HOOK __attribute__((visibility("default"), no_instrument_function))

// __cyg_profile_func_enter and __cyg_profile_func_exit are called by the code that the
// compiler inserts, hence the names.
HOOK void __cyg_profile_func_enter(void *function, void *call_site);
HOOK void __cyg_profile_func_exit(void *function, void *call_site);

// record_slowly handles every case: no ring yet, a function that is new or not in its
// first slot, a busy ring, or a record that needs other records before it.
__attribute__((noinline)) static void record_slowly(enum ring_action action,
                                                    uint64_t function)
{
    struct flight_ring *ring = ring_of_thread;
    if (ring == NULL && (ring = ring_claim()) == NULL)
        return;
    ring_record(ring, action, functions_id(function));
}

// record_hook is the fast path of nearly every record. It calls functions only as tail
// calls, so that it saves no registers.
static inline __attribute__((always_inline)) void record_hook(enum ring_action action,
                                                              uint64_t function)
{
    struct flight_ring *ring = ring_of_thread;
    // Programs are linked with the recorder and mostly do not record.
    if (ring == NULL && __atomic_load_n(&ring_blocks, __ATOMIC_RELAXED) == 0)
        return;
    if (__builtin_expect(ring == NULL || ring->busy != 0, 0)) {
        record_slowly(action, function);
        return;
    }
    uint32_t id = functions_known(function);
    if (__builtin_expect(id == 0, 0) || !ring_enter(ring)) {
        record_slowly(action, function);
        return;
    }
    uint64_t tsc = counter_read();
    if (__builtin_expect(!ring_fits(ring, tsc, RING_FUNCTION_SIZE), 0)) {
        ring_leave(ring);
        record_slowly(action, function);
        return;
    }
    ring_finish(ring, action, id, tsc);
}

void __cyg_profile_func_enter(void *function, void *call_site)
{
    (void)call_site;
    record_hook(RING_ENTER, (uintptr_t)function);
}

void __cyg_profile_func_exit(void *function, void *call_site)
{
    (void)call_site;
    record_hook(RING_EXIT, (uintptr_t)function);
}
