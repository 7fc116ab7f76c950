// SPDX-License-Identifier: Apache-2.0
//
// A growing array is three members of its owner: items, count, capacity. One function
// makes room, so that sizes are checked in one place; another frees the unused room of
// arrays that are kept.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// array_reserve makes room for count + 1 items of item_size bytes at *items, which has
// room for *capacity. On failure it returns false and changes nothing.
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

// array_trim frees the room after the count items of *items.
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
