// SPDX-License-Identifier: Apache-2.0
//
// Which allocations are guarded: each thread counts down to its next one. The distances
// are random, with an exponential distribution, so that every allocation has the same
// chance whatever pattern the program follows.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/heap_pool.h"

// The initial-exec model needs no call, and no memory when a thread first uses it.
extern __thread int32_t sample_countdown
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

// sample_is_due counts an allocation. True: sample_allocate is to be called.
static inline bool sample_is_due(void)
{
    return __builtin_expect(--sample_countdown < 0, 0);
}

// sample_allocate gives a guarded block, or NULL: the allocation is the next
// allocator's. It starts the next countdown.
void *sample_allocate(size_t size, size_t alignment, enum heap_origin origin,
                      const void *caller);

// sample_keep is called with the next allocator's block after sample_allocate gave
// none: if the allocation was due, the block is recorded as a live one. It returns the
// block.
void *sample_keep(void *block, size_t size, enum heap_origin origin,
                  const void *caller);
