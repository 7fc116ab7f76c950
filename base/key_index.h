// SPDX-License-Identifier: Apache-2.0
//
// A hash table of 64-bit keys that have numbers from 1 on, such as the places in an
// array of its owner. Keys are not removed. The hash depends on a random factor, so
// that hostile input cannot give its keys one place and make searches slow.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct key_index_slot {
    uint64_t key;
    uint32_t number; // 0: the slot is free
};

// A key_index starts as zeros; its owner frees slots.
struct key_index {
    struct key_index_slot *slots; // at least half of them free
    size_t slot_count;            // 0, or a power of 2
    uint64_t factor;
};

// key_index_grow doubles the slots. false: no memory, and nothing was changed.
bool key_index_grow(struct key_index *index);

static inline uint64_t key_index_hash(const struct key_index *index, uint64_t key)
{
    uint64_t hash = key * index->factor;
    return (hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15);
}

// key_index_slot finds key's slot, or the free one where it belongs. There have to be
// slots.
static inline struct key_index_slot *key_index_slot(const struct key_index *index,
                                                    uint64_t key)
{
    size_t mask = index->slot_count - 1;
    size_t at = (size_t)(key_index_hash(index, key) >> 32) & mask;
    while (index->slots[at].number != 0 && index->slots[at].key != key)
        at = (at + 1) & mask;
    return &index->slots[at];
}

// key_index_place gives the place of key's number. 0 is there if it has none, and the
// caller may store one until the next call. count is how many keys have one. NULL: no
// memory.
static inline uint32_t *key_index_place(struct key_index *index, size_t count,
                                        uint64_t key)
{
    if (index->slot_count / 2 <= count && !key_index_grow(index))
        return NULL;
    struct key_index_slot *slot = key_index_slot(index, key);
    slot->key = key;
    return &slot->number;
}
