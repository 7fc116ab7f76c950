// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_share.h"

#include <stdlib.h>
#include <string.h>

enum { SHARE_FIRST = 256 };

static uint64_t share_hash(const uint8_t *key, size_t size)
{
    uint64_t hash = size * UINT64_C(0x9e3779b97f4a7c15);
    for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, key, sizeof(word));
        hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
        key += sizeof(word);
    }
    for (; size > 0; size--)
        hash = (hash ^ *key++) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

// share_slot gives the slot of a key, or the free one where it belongs.
static struct argument_shared *share_slot(const struct argument_share *share,
                                          uint64_t hash, const void *key, size_t size)
{
    size_t at = (size_t)hash & (share->room - 1);
    for (;; at = (at + 1) & (share->room - 1)) {
        struct argument_shared *slot = &share->slots[at];
        if (slot->value == NULL ||
            (slot->hash == hash && slot->size == size &&
             memcmp(share->keys.bytes + slot->key, key, size) == 0))
            return slot;
    }
}

// share_reserve keeps the table at most half full.
static bool share_reserve(struct argument_share *share)
{
    if (2 * (share->count + 1) <= share->room)
        return true;
    size_t room = share->room != 0 ? 2 * share->room : SHARE_FIRST;
    struct argument_shared *before = share->slots;
    struct argument_shared *slots = calloc(room, sizeof(*slots));
    if (slots == NULL)
        return false;
    size_t count = share->room;
    share->slots = slots;
    share->room = room;
    for (size_t i = 0; i < count; i++) {
        size_t at = (size_t)before[i].hash & (room - 1);
        while (before[i].value != NULL && slots[at].value != NULL)
            at = (at + 1) & (room - 1);
        if (before[i].value != NULL)
            slots[at] = before[i];
    }
    free(before);
    return true;
}

void argument_share_deinit(struct argument_share *share)
{
    for (size_t i = 0; i < share->room; i++)
        json_decref(share->slots[i].value);
    free(share->slots);
    text_deinit(&share->keys);
    *share = (struct argument_share){ 0 };
}

json_t *argument_share_find(const struct argument_share *share, const void *key,
                            size_t size)
{
    if (share->room == 0)
        return NULL;
    return json_incref(share_slot(share, share_hash(key, size), key, size)->value);
}

bool argument_share_add(struct argument_share *share, const void *key, size_t size,
                        json_t *value)
{
    size_t at = share->keys.size;
    if (!share_reserve(share))
        return false;
    text_append(&share->keys, key, size);
    if (!text_ok(&share->keys))
        return false;
    uint64_t hash = share_hash(key, size);
    *share_slot(share, hash, key, size) = (struct argument_shared){
        .hash = hash, .key = at, .size = size, .value = json_incref(value)
    };
    share->count++;
    return true;
}
