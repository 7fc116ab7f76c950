// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/address_map.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/sorted.h"

// Digits of starts by which many ranges are sorted; below RADIX_LEAST, counting them
// takes longer than comparing.
enum { RADIX_BITS = 11, RADIX = 1 << RADIX_BITS, RADIX_LEAST = 512 };

void address_map_deinit(struct address_map *map)
{
    free(map->ranges);
    free(map->starts);
    free(map->owners);
    *map = (struct address_map){ 0 };
}

enum ch_status address_map_add(struct address_map *map,
                               const struct address_range *range)
{
    if (range->low >= range->high)
        return CH_OK;
    if (!array_reserve(&map->ranges, &map->range_capacity, map->range_count,
                       sizeof(map->ranges[0])))
        return CH_ERR_NO_MEMORY;
    map->ranges[map->range_count++] = *range;
    return CH_OK;
}

// outer_first sorts by start, and enclosing ranges before enclosed ones. Of owners that
// claim the same range, the first one becomes the innermost, as in other tools: linkers
// keep one copy of a function that several units have, and may make all those units
// refer to it.
static int outer_first(const void *left, const void *right)
{
    const struct address_range *a = left;
    const struct address_range *b = right;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    if (a->high != b->high)
        return a->high > b->high ? -1 : 1;
    return a->owner > b->owner ? -1 : a->owner < b->owner;
}

// sort_digit sorts by one digit of the starts; those where it is equal stay in order.
static void sort_digit(const struct address_range *from, struct address_range *to,
                       size_t count, unsigned shift)
{
    uint32_t at[RADIX] = { 0 };
    uint32_t next = 0;
    for (size_t i = 0; i < count; i++)
        at[from[i].low >> shift & (RADIX - 1)]++;
    for (size_t i = 0; i < RADIX; i++) {
        uint32_t of_digit = at[i];
        at[i] = next;
        next += of_digit;
    }
    for (size_t i = 0; i < count; i++)
        to[at[from[i].low >> shift & (RADIX - 1)]++] = from[i];
}

// sort_equal_starts sorts the ranges that begin together. Most are in order already, as
// an entry precedes those within it.
static void sort_equal_starts(struct address_range *ranges, size_t count)
{
    size_t first = 0;
    bool ordered = true;
    for (size_t i = 1; i <= count; i++) {
        bool same = i < count && ranges[i].low == ranges[first].low;
        ordered = ordered && (!same || outer_first(&ranges[i - 1], &ranges[i]) <= 0);
        if (same)
            continue;
        if (!ordered)
            qsort(&ranges[first], i - first, sizeof(ranges[0]), outer_first);
        first = i;
        ordered = true;
    }
}

// sort_ranges sorts as outer_first does: many of them digit by digit.
static void sort_ranges(struct address_map *map)
{
    size_t count = map->range_count;
    struct address_range *other =
        count >= RADIX_LEAST ? malloc(count * sizeof(other[0])) : NULL;
    if (other == NULL) {
        qsort(map->ranges, count, sizeof(map->ranges[0]), outer_first);
        return;
    }
    uint64_t differ = 0;
    for (size_t i = 1; i < count; i++)
        differ |= map->ranges[i].low ^ map->ranges[0].low;
    for (unsigned shift = 0; shift < 64; shift += RADIX_BITS) {
        if ((differ >> shift & (RADIX - 1)) == 0)
            continue;
        sort_digit(map->ranges, other, count, shift);
        struct address_range *sorted = other;
        other = map->ranges;
        map->ranges = sorted;
    }
    free(other);
    sort_equal_starts(map->ranges, count);
}

static void emit_range(struct address_map *map, uint64_t start, uint32_t owner)
{
    size_t last = map->segment_count - 1;
    if (map->segment_count != 0 && map->starts[last] == start) {
        map->owners[last] = owner;
        return;
    }
    if (map->segment_count != 0 && map->owners[last] == owner)
        return;
    map->starts[map->segment_count] = start;
    map->owners[map->segment_count++] = owner;
}

// close_ranges ends the open ranges that end by limit, and returns how many stay open.
// A range that extends past its enclosing one keeps its addresses.
static size_t close_ranges(struct address_map *map, const uint32_t *open, size_t count,
                           uint64_t limit)
{
    while (count != 0 && map->ranges[open[count - 1]].high <= limit) {
        uint64_t end = map->ranges[open[count - 1]].high;
        while (count != 0 && map->ranges[open[count - 1]].high <= end)
            count--;
        emit_range(map, end,
                   count != 0 ? map->ranges[open[count - 1]].owner : ADDRESS_MAP_NONE);
    }
    return count;
}

enum ch_status address_map_build(struct address_map *map)
{
    size_t count = map->range_count;
    if (count == 0)
        return CH_OK;
    if (count > UINT32_MAX / 2)
        return CH_ERR_LIMIT;
    // Each range can begin one segment and end one.
    map->starts = malloc(2 * count * sizeof(map->starts[0]));
    map->owners = malloc(2 * count * sizeof(map->owners[0]));
    uint32_t *open = malloc(count * sizeof(open[0]));
    if (map->starts == NULL || map->owners == NULL || open == NULL) {
        free(open);
        return CH_ERR_NO_MEMORY;
    }
    sort_ranges(map);
    size_t open_count = 0;
    for (size_t i = 0; i < count; i++) {
        open_count = close_ranges(map, open, open_count, map->ranges[i].low);
        emit_range(map, map->ranges[i].low, map->ranges[i].owner);
        open[open_count++] = (uint32_t)i;
    }
    (void)close_ranges(map, open, open_count, UINT64_MAX);
    free(open);
    free(map->ranges);
    map->ranges = NULL;
    map->range_count = map->range_capacity = 0;
    size_t capacity = 2 * count;
    array_trim(&map->starts, &capacity, map->segment_count, sizeof(map->starts[0]));
    array_trim(&map->owners, &capacity, map->segment_count, sizeof(map->owners[0]));
    return CH_OK;
}

uint32_t address_map_find(const struct address_map *map, uint64_t address)
{
    size_t after = sorted_count_up_to(map->starts, map->segment_count,
                                      sizeof(map->starts[0]), 0, address);
    return after != 0 ? map->owners[after - 1] : ADDRESS_MAP_NONE;
}
