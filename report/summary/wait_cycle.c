// SPDX-License-Identifier: Apache-2.0
#include "report/summary/wait_cycle.h"

// next_wait is the index of the wait of the thread that wait number index is for;
// count: it waits for nobody, who waits for nothing, or not for ever.
static size_t next_wait(const struct wait_edge *waits, size_t count, size_t index)
{
    size_t next = 0;
    if (waits[index].timed || waits[index].owner == 0)
        return count;
    while (next < count && waits[next].tid != waits[index].owner)
        next++;
    return next < count && !waits[next].timed && waits[next].owner != 0 ? next : count;
}

// cycle_length is how many waits lead back to the one at index; 0: they do not.
static size_t cycle_length(const struct wait_edge *waits, size_t count, size_t index)
{
    size_t at = index;
    for (size_t length = 1; length <= count; length++) {
        at = next_wait(waits, count, at);
        if (at == index)
            return length;
        if (at == count)
            return 0;
    }
    return 0;
}

size_t wait_cycle(const struct wait_edge *waits, size_t count, size_t *out,
                  size_t capacity)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = cycle_length(waits, count, i);
        size_t at = i;
        for (size_t k = 0; k < length && k < capacity; k++) {
            out[k] = at;
            at = next_wait(waits, count, at);
        }
        if (length != 0)
            return length;
    }
    return 0;
}
