// SPDX-License-Identifier: Apache-2.0
//
// Searching an array whose items ascend by a key of 64 bits, most often the address
// that something starts at.
//
// The answer is a count, and the item that a wanted address lies in, if in any, is the
// one before: starts are all that is looked at. Everything is inline, because the
// unwinder asks for each frame.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// sorted_count_up_to is how many of count items have a key of at most wanted. An item
// takes stride bytes, and its key lies offset bytes into it.
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

// SORTED_UP_TO is sorted_count_up_to for an array of structures and their member key,
// which has 64 bits: the item that a wanted address is in is the one before.
#define SORTED_UP_TO(items, count, key, wanted)                                        \
    sorted_count_up_to(                                                                \
        (items), (count), sizeof(*(items)),                                            \
        offsetof(__typeof__(*(items)), key) +                                          \
            0 * sizeof(char[sizeof((items)->key) == sizeof(uint64_t) ? 1 : -1]),       \
        (wanted))
