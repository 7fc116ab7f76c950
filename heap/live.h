// SPDX-License-Identifier: Apache-2.0
//
// The sampled allocations that got no slot of the pool: they are the next allocator's,
// and a table has their sizes and stacks until they are freed. The agent makes a
// profile of the live heap from it and the pool's live blocks.
//
// A block has eight places that it may be at, so a lookup ends after eight comparisons
// and nothing has to be moved. A filter says of nearly all blocks that they are not in
// the table. There are no locks: a place is claimed by compare and exchange, and
// whoever frees a block is the only one who may look it up.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/heap_pool.h"

enum { LIVE_FILTER_BYTES = 1 << 13 };

// Counts the blocks of the table whose address has that hash.
extern uint8_t live_filter[LIVE_FILTER_BYTES] __attribute__((visibility("hidden")));

static inline size_t live_hash(const void *address)
{
    return ((uintptr_t)address >> 4) % LIVE_FILTER_BYTES;
}

// live_may_contain returns false if the block is not in the table.
static inline bool live_may_contain(const void *address)
{
    return __builtin_expect(live_filter[live_hash(address)] != 0, 0);
}

// live_open maps the table. Without memory for it, nothing is added.
void live_open(void);

// live_add adds a block with the stack of the call that returns to caller. Blocks that
// find no place are counted in the state.
void live_add(const void *address, size_t size, enum heap_origin origin,
              const void *caller);

// live_remove removes a block that is about to be freed. False: it was not there.
bool live_remove(const void *address, size_t *out_size);
