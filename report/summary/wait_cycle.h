// SPDX-License-Identifier: Apache-2.0
//
// Threads that wait for one another in a circle: a deadlock. A wait that ends by itself
// (a timeout), or for what nobody in particular holds, is part of none.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A wait_edge is that a thread waits for what another one, or itself, holds.
struct wait_edge {
    int32_t tid;
    int32_t owner; // 0: nobody that is known
    bool timed;
};

// wait_cycle finds a circle, writes the indices of the first capacity of its waits, in
// the order in which each waits for the next, and returns how many it has; 0: there is
// none. It begins with the wait that comes first in the list.
size_t wait_cycle(const struct wait_edge *waits, size_t count, size_t *out,
                  size_t capacity);
