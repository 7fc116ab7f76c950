// SPDX-License-Identifier: Apache-2.0
//
// Searches an array whose items are sorted by a 64-bit key, most often the address at
// which something starts.
//
// The result is a count. Only starts are compared: if any item contains the wanted
// address, it is the one before that index. Everything is inline, because the unwinder
// searches for each frame.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// sorted_count_up_to gives how many of count items have a key of at most wanted. An
// item has stride bytes, and its key is at offset.
static inline size_t sorted_count_up_to(const void *items, size_t count, size_t stride,
                                        size_t offset, uint64_t wanted)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t key;
        memcpy(&key, (const char *)items + middle * stride + offset, sizeof(key));
        if (key <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// SORTED_UP_TO is sorted_count_up_to for an array of structures and their 64-bit member
// key: the item that may contain wanted is the one before.
#define SORTED_UP_TO(items, count, key, wanted)                                        \
    sorted_count_up_to(                                                                \
        (items), (count), sizeof(*(items)),                                            \
        offsetof(__typeof__(*(items)), key) +                                          \
            0 * sizeof(char[sizeof((items)->key) == sizeof(uint64_t) ? 1 : -1]),       \
        (wanted))

// SORTED_BEFORE gives how many have a key below wanted, which is the index of the first
// that has at least that.
#define SORTED_BEFORE(items, count, key, wanted)                                       \
    ((wanted) == 0 ? 0 : SORTED_UP_TO(items, count, key, (wanted)-1))
