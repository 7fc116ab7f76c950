// SPDX-License-Identifier: Apache-2.0
//
// The pool of guarded allocations (shared/heap_pool.h).
//
// A block is put at the start or the end of whole pages of a slot, at random, so that
// an access before or after it reaches a guard page. The other bytes of its pages hold
// a pattern, which free checks. A freed slot is made inaccessible, and is used again
// after all slots that were freed before it.
//
// There are no locks: slots pass through a queue that never waits, and each changes its
// status by compare and exchange. So a signal handler, a child of vfork and a thread
// that was stopped anywhere may allocate. All system calls are those that malloc makes
// itself (mmap, mprotect), and errno is kept.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/heap_pool.h"

// POOL_ALIGNMENT is that of malloc.
enum { POOL_ALIGNMENT = 16 };

extern struct heap_state crashhook_heap_state __attribute__((visibility("hidden")));

// pool_map maps fresh memory. NULL: there is none.
void *pool_map(size_t size, int protection);

// pool_open maps the pool, of which at most limit_bytes are ever resident. Without
// memory for it, it stays closed.
void pool_open(enum pool_mode mode, uint32_t slots, uint64_t limit_bytes);

struct pool_request {
    size_t size;
    size_t alignment; // a power of two
    bool at_end;      // the block is put at the end of its pages
    enum heap_origin origin;
    const void *caller; // return address of the call
};

// pool_allocate gives a zeroed block, or NULL: the pool cannot take it.
void *pool_allocate(const struct pool_request *request);

// pool_contains returns true if the address is the pool's, as no address is before it
// is open.
static inline bool pool_contains(const void *address)
{
    return (uintptr_t)address - crashhook_heap_state.base < crashhook_heap_state.bytes;
}

// pool_free frees a block. It does not return if the call is an error or the bytes
// around the block were overwritten: the program then ends by a fault.
void pool_free(void *address, enum heap_origin origin, const void *caller);

// pool_size is the size that was asked for.
size_t pool_size(const void *address);

// pool_count_live counts the blocks that are allocated, and their bytes.
uint64_t pool_count_live(uint64_t *out_bytes);

// pool_after_fork makes the pool usable in a child: other threads of the parent may
// have been in the middle of its functions.
void pool_after_fork(void);
