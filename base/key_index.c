// SPDX-License-Identifier: Apache-2.0
#include "base/key_index.h"

#include <stdlib.h>
#include <sys/random.h>

enum { FIRST_SLOTS = 64 };

bool key_index_grow(struct key_index *index)
{
    struct key_index grown = { .factor = index->factor };
    grown.slot_count = index->slot_count != 0 ? index->slot_count * 2 : FIRST_SLOTS;
    grown.slots = calloc(grown.slot_count, sizeof(*grown.slots));
    if (grown.slots == NULL)
        return false;
    if (grown.factor == 0) {
        if (getrandom(&grown.factor, sizeof(grown.factor), GRND_NONBLOCK) < 0)
            grown.factor = (uintptr_t)grown.slots; // early in the boot
        grown.factor |= 1;
    }
    for (size_t i = 0; i < index->slot_count; i++) {
        if (index->slots[i].number != 0)
            *key_index_slot(&grown, index->slots[i].key) = index->slots[i];
    }
    free(index->slots);
    *index = grown;
    return true;
}
