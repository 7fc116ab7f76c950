// SPDX-License-Identifier: Apache-2.0
//
// A growing array is three members of its owner: items, count, capacity. One function
// makes room, so that sizes are checked in one place; another frees the unused room of
// arrays that are kept.
//
// items is the address of the owner's pointer, of any type. New room is not cleared,
// and growing moves the items, so pointers into them are invalid after a call. Owners
// with a limit of their own check it first.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// array_grow makes room for at least wanted items, which are more than *capacity.
bool array_grow(void *items, size_t *capacity, size_t wanted, size_t item_size);

// array_reserve makes room for count + 1 items of item_size bytes at *items, which has
// room for *capacity. On failure it returns false and changes nothing.
static inline bool array_reserve(void *items, size_t *capacity, size_t count,
                                 size_t item_size)
{
    return count < *capacity || array_grow(items, capacity, count + 1, item_size);
}

// array_reserve_many does it for count + more items.
static inline bool array_reserve_many(void *items, size_t *capacity, size_t count,
                                      size_t more, size_t item_size)
{
    return more <= *capacity - count ||
           (more <= SIZE_MAX - count &&
            array_grow(items, capacity, count + more, item_size));
}

// array_trim frees the room after the count items of *items.
void array_trim(void *items, size_t *capacity, size_t count, size_t item_size);
