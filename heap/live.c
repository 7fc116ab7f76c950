// SPDX-License-Identifier: Apache-2.0
#include "heap/live.h"

#include <sys/mman.h>

#include "heap/event.h"
#include "heap/pool.h"

enum {
    PLACES_OF_BLOCK = 8,
    FILTER_MAX = UINT8_MAX / 2, // so that threads that add at once do not exceed it
};

uint8_t live_filter[LIVE_FILTER_BYTES];
static struct heap_live *table;

// first_place is the first of a block's places.
static struct heap_live *first_place(const void *address)
{
    uint64_t hash = ((uintptr_t)address >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    return &table[(hash >> 32) % (HEAP_LIVE_PLACES / PLACES_OF_BLOCK) *
                  PLACES_OF_BLOCK];
}

void live_open(void)
{
    table = pool_map(HEAP_LIVE_PLACES * sizeof(*table), PROT_READ | PROT_WRITE);
    crashhook_heap_state.live = (uintptr_t)table;
}

static struct heap_live *claim_place(const void *address)
{
    struct heap_live *first = first_place(address);
    for (size_t i = 0; i < PLACES_OF_BLOCK; i++) {
        uint64_t none = 0;
        if (__atomic_compare_exchange_n(&first[i].address, &none, HEAP_LIVE_BUSY, false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return &first[i];
    }
    return NULL;
}

void live_add(const void *address, size_t size, enum heap_origin origin,
              const void *caller)
{
    uint8_t *filter = &live_filter[live_hash(address)];
    if (table == NULL)
        return;
    struct heap_live *place = __atomic_load_n(filter, __ATOMIC_RELAXED) < FILTER_MAX
                                  ? claim_place(address)
                                  : NULL;
    if (place == NULL) {
        __atomic_add_fetch(&crashhook_heap_state.live_lost, 1, __ATOMIC_RELAXED);
        return;
    }
    place->size = size;
    event_note(&place->allocated, origin, caller);
    __atomic_store_n(&place->address, (uintptr_t)address, __ATOMIC_RELEASE);
    __atomic_add_fetch(filter, 1, __ATOMIC_RELEASE);
}

bool live_remove(const void *address, size_t *out_size)
{
    struct heap_live *first = table != NULL ? first_place(address) : NULL;
    for (size_t i = 0; first != NULL && i < PLACES_OF_BLOCK; i++) {
        uint64_t found = (uintptr_t)address;
        if (address == NULL ||
            __atomic_load_n(&first[i].address, __ATOMIC_RELAXED) != found)
            continue;
        *out_size = first[i].size;
        if (!__atomic_compare_exchange_n(&first[i].address, &found, 0, false,
                                         __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return false; // a second free of it, in another thread
        __atomic_sub_fetch(&live_filter[live_hash(address)], 1, __ATOMIC_RELAXED);
        return true;
    }
    return false;
}
