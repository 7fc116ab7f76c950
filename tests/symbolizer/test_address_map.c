// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/address_map.h"

#include <stdlib.h>

#include "support/test.h"

// map_of builds a map of count ranges.
static struct address_map map_of(const struct address_range *ranges, size_t count)
{
    struct address_map map = { 0 };
    for (size_t i = 0; i < count; i++)
        if (address_map_add(&map, &ranges[i]) != CH_OK)
            abort();
    if (address_map_build(&map) != CH_OK)
        abort();
    return map;
}

static void map_gives_the_innermost_of_nested_ranges(void **state)
{
    (void)state;
    static const struct address_range nested[] = {
        { .low = 0x100, .high = 0x200, .depth = 0, .owner = 1 },
        { .low = 0x120, .high = 0x180, .depth = 1, .owner = 2 },
        { .low = 0x140, .high = 0x150, .depth = 2, .owner = 3 },
    };
    struct address_map map = map_of(nested, 3);
    uint32_t at[] = { address_map_find(&map, 0xff),  address_map_find(&map, 0x100),
                      address_map_find(&map, 0x120), address_map_find(&map, 0x14f),
                      address_map_find(&map, 0x150), address_map_find(&map, 0x180),
                      address_map_find(&map, 0x1ff), address_map_find(&map, 0x200) };
    address_map_deinit(&map);
    static const uint32_t wanted[] = { ADDRESS_MAP_NONE, 1, 2, 3, 2, 1, 1,
                                       ADDRESS_MAP_NONE };
    assert_memory_equal(at, wanted, sizeof(wanted));
}

static void map_tells_ranges_apart_that_begin_together(void **state)
{
    (void)state;
    static const struct address_range together[] = {
        { .low = 0x10, .high = 0x20, .depth = 1, .owner = 2 },
        { .low = 0x10, .high = 0x30, .depth = 0, .owner = 1 },
    };
    struct address_map map = map_of(together, 2);
    uint32_t inner = address_map_find(&map, 0x10);
    uint32_t outer = address_map_find(&map, 0x20);
    address_map_deinit(&map);
    assert_int_equal(inner, 2);
    assert_int_equal(outer, 1);
}

static void map_gives_the_first_of_owners_that_claim_the_same_range(void **state)
{
    (void)state;
    static const struct address_range same[] = {
        { .low = 0x10, .high = 0x20, .owner = 2 },
        { .low = 0x10, .high = 0x20, .owner = 1 },
        { .low = 0x10, .high = 0x20, .owner = 3 },
    };
    struct address_map map = map_of(same, 3);
    uint32_t found = address_map_find(&map, 0x18);
    address_map_deinit(&map);
    assert_int_equal(found, 1);
}

static void map_keeps_addresses_of_a_range_that_outlives_its_parent(void **state)
{
    (void)state;
    static const struct address_range crossing[] = {
        { .low = 0x10, .high = 0x20, .depth = 0, .owner = 1 },
        { .low = 0x18, .high = 0x28, .depth = 1, .owner = 2 },
    };
    struct address_map map = map_of(crossing, 2);
    uint32_t late = address_map_find(&map, 0x24);
    uint32_t after = address_map_find(&map, 0x28);
    address_map_deinit(&map);
    assert_int_equal(late, 2);
    assert_int_equal(after, ADDRESS_MAP_NONE);
}

static void map_leaves_empty_and_backward_ranges_out(void **state)
{
    (void)state;
    static const struct address_range odd[] = {
        { .low = 0x10, .high = 0x10, .owner = 1 },
        { .low = 0x30, .high = 0x20, .owner = 2 },
    };
    struct address_map map = map_of(odd, 2);
    uint32_t found = address_map_find(&map, 0x10);
    address_map_deinit(&map);
    assert_int_equal(found, ADDRESS_MAP_NONE);
}

// innermost is what the map has to say, worked out without it: of the ranges that
// nest, the deepest one there.
static uint32_t innermost(const struct address_range *ranges, size_t count, uint64_t at)
{
    uint32_t owner = ADDRESS_MAP_NONE;
    uint32_t depth = 0;
    for (size_t i = 0; i < count; i++) {
        if (at < ranges[i].low || at >= ranges[i].high)
            continue;
        if (owner == ADDRESS_MAP_NONE || ranges[i].depth >= depth) {
            owner = ranges[i].owner;
            depth = ranges[i].depth;
        }
    }
    return owner;
}

static void map_agrees_with_a_search_of_a_random_nest(void **state)
{
    (void)state;
    enum { COUNT = 40, SPAN = 1 << 16 };
    struct address_range nest[COUNT] = { { .low = 0, .high = SPAN } };
    srand(7);
    for (uint32_t i = 1; i < COUNT; i++) {
        uint64_t low = nest[i - 1].low + (unsigned)rand() % 500;
        uint64_t high = nest[i - 1].high - (unsigned)rand() % 500;
        nest[i] =
            (struct address_range){ .low = low, .high = high, .depth = i, .owner = i };
    }
    struct address_map map = map_of(nest, COUNT);
    size_t wrong = 0;
    for (uint64_t at = 0; at < SPAN + 2; at++)
        wrong += address_map_find(&map, at) != innermost(nest, COUNT, at);
    address_map_deinit(&map);
    assert_int_equal(wrong, 0);
}

static void map_of_many_ranges_gives_the_deepest_and_shortest_of_a_start(void **state)
{
    (void)state;
    // Starts that many share, and that differ in their lowest and their highest bits.
    enum { COUNT = 5000, NEAR = 700 };
    struct address_range *ranges = calloc(COUNT, sizeof(ranges[0]));
    assert_non_null(ranges);
    srand(11);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint64_t low = (uint64_t)(rand() % 2) << 60 | (unsigned)rand() % NEAR << 8;
        ranges[i] = (struct address_range){ .low = low,
                                            .high = low + 1 + (unsigned)rand() % 255,
                                            .depth = (unsigned)rand() % 4,
                                            .owner = i };
    }
    struct address_map map = map_of(ranges, COUNT);
    size_t wrong = 0;
    for (uint64_t at = 0; at < 2 * NEAR; at++) {
        uint64_t start = (at & 1) << 60 | at >> 1 << 8;
        const struct address_range *best = NULL;
        for (size_t i = 0; i < COUNT; i++) {
            const struct address_range *r = &ranges[i];
            if (r->low == start && (best == NULL || r->depth > best->depth ||
                                    (r->depth == best->depth && r->high < best->high)))
                best = r;
        }
        wrong += address_map_find(&map, start) !=
                 (best != NULL ? best->owner : ADDRESS_MAP_NONE);
    }
    address_map_deinit(&map);
    free(ranges);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map_gives_the_innermost_of_nested_ranges),
        cmocka_unit_test(map_tells_ranges_apart_that_begin_together),
        cmocka_unit_test(map_gives_the_first_of_owners_that_claim_the_same_range),
        cmocka_unit_test(map_keeps_addresses_of_a_range_that_outlives_its_parent),
        cmocka_unit_test(map_leaves_empty_and_backward_ranges_out),
        cmocka_unit_test(map_of_many_ranges_gives_the_deepest_and_shortest_of_a_start),
        cmocka_unit_test(map_agrees_with_a_search_of_a_random_nest),
    };
    return cmocka_run_group_tests_name("symbolizer/address_map", tests, NULL, NULL);
}
