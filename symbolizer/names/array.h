// SPDX-License-Identifier: Apache-2.0
//
// A growing array is three fields of its owner: items, count, capacity. One function
// makes room, so that sizes are checked in one place; another gives back what is left
// of it, in arrays that are kept.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// array_reserve makes room for count + 1 items of item_size bytes at *items, which
// holds *capacity of them, or returns false and leaves everything as it was.
static inline bool array_reserve(void *items, size_t *capacity, size_t count,
                                 size_t item_size)
{
    if (count < *capacity)
        return true;
    size_t wanted = *capacity != 0 ? *capacity * 2 : 16;
    if (wanted <= *capacity || wanted > SIZE_MAX / 2 / item_size)
        return false;
    void **at = items;
    void *grown = realloc(*at, wanted * item_size);
    if (grown == NULL)
        return false;
    *at = grown;
    *capacity = wanted;
    return true;
}

// array_trim gives back the room behind the count items of *items.
static inline void array_trim(void *items, size_t *capacity, size_t count,
                              size_t item_size)
{
    void **at = items;
    void *kept = count != 0 ? realloc(*at, count * item_size) : NULL;
    if (kept == NULL)
        return;
    *at = kept;
    *capacity = count;
}
