// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/intern.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

static uint64_t intern_hash_of(const uint8_t *bytes, size_t size)
{
    uint64_t hash = size * 0x9e3779b97f4a7c15u;
    while (size != 0) {
        uint64_t word = 0;
        size_t taken = size < sizeof(word) ? size : sizeof(word);
        memcpy(&word, bytes, taken);
        hash = (hash ^ word) * 0x9fb21c651e98df25u;
        hash ^= hash >> 32;
        bytes += taken;
        size -= taken;
    }
    return hash;
}

// intern_slot_of gives the slot that has the record, or the free one where it belongs.
static struct intern_slot *intern_slot_of(const struct intern *set, uint64_t hash,
                                          const void *record, size_t size)
{
    size_t mask = set->slot_count - 1;
    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        struct intern_slot *slot = &set->slots[i];
        if (slot->size == 0)
            return slot;
        if (slot->hash == hash && slot->size == size &&
            memcmp(set->bytes.bytes + slot->offset, record, size) == 0)
            return slot;
    }
}

// intern_make_room keeps a third of the slots free.
static bool intern_make_room(struct intern *set)
{
    if (set->slot_count != 0 && set->count < set->slot_count / 3 * 2)
        return true;
    size_t wanted = set->slot_count != 0 ? set->slot_count * 2 : FIRST_SLOTS;
    struct intern_slot *slots = calloc(wanted, sizeof(slots[0]));
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < set->slot_count; i++) {
        size_t at = (size_t)set->slots[i].hash & (wanted - 1);
        while (slots[at].size != 0)
            at = (at + 1) & (wanted - 1);
        if (set->slots[i].size != 0)
            slots[at] = set->slots[i];
    }
    free(set->slots);
    set->slots = slots;
    set->slot_count = wanted;
    return true;
}

enum ch_status intern_add(struct intern *set, const void *record, size_t size,
                          uint32_t *out)
{
    if (!intern_make_room(set))
        return CH_ERR_NO_MEMORY;
    uint64_t hash = intern_hash_of(record, size);
    struct intern_slot *slot = intern_slot_of(set, hash, record, size);
    if (slot->size == 0) {
        if (set->bytes.size + size > UINT32_MAX)
            return CH_ERR_LIMIT;
        *slot = (struct intern_slot){ .hash = hash,
                                      .offset = (uint32_t)set->bytes.size,
                                      .size = (uint32_t)size };
        text_append(&set->bytes, record, size);
        if (!text_ok(&set->bytes))
            return CH_ERR_NO_MEMORY;
        set->count++;
    }
    *out = slot->offset;
    return CH_OK;
}

void intern_deinit(struct intern *set)
{
    text_deinit(&set->bytes);
    free(set->slots);
    *set = (struct intern){ 0 };
}
