// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 16 };

// items_at copies the owner's pointer by its bytes: its type is not known here, so
// reading it as a void * would break the aliasing rules.
static void *items_at(const void *items)
{
    void *at;
    memcpy(&at, items, sizeof(at));
    return at;
}

static bool array_resize(void *items, size_t *capacity, size_t wanted, size_t item_size)
{
    void *moved = realloc(items_at(items), wanted * item_size);
    if (moved == NULL)
        return false;
    memcpy(items, &moved, sizeof(moved));
    *capacity = wanted;
    return true;
}

bool array_grow(void *items, size_t *capacity, size_t wanted, size_t item_size)
{
    size_t larger = *capacity != 0 ? *capacity : FIRST_CAPACITY;
    if (wanted > SIZE_MAX / 4 / item_size)
        return false;
    while (larger < wanted)
        larger *= 2;
    return array_resize(items, capacity, larger, item_size);
}

void array_trim(void *items, size_t *capacity, size_t count, size_t item_size)
{
    if (count != 0 && count < *capacity)
        (void)array_resize(items, capacity, count, item_size);
}
