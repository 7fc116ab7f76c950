// SPDX-License-Identifier: Apache-2.0
#include "base/sorted.h"

#include "support/test.h"

struct stretch {
    uint32_t number;
    uint64_t start;
};

static const struct stretch stretches[] = {
    { 0, 10 }, { 1, 20 }, { 2, 20 }, { 3, 30 }, { 4, UINT64_MAX },
};

enum { COUNT = sizeof(stretches) / sizeof(stretches[0]) };

static size_t up_to(size_t count, uint64_t wanted)
{
    return SORTED_UP_TO(stretches, count, start, wanted);
}

static void sorted_counts_the_items_that_begin_by_then(void **state)
{
    (void)state;
    assert_int_equal(up_to(COUNT, 9), 0);
    assert_int_equal(up_to(COUNT, 10), 1);
    assert_int_equal(up_to(COUNT, 19), 1);
    assert_int_equal(up_to(COUNT, 20), 3);
    assert_int_equal(up_to(COUNT, UINT64_MAX - 1), 4);
    assert_int_equal(up_to(COUNT, UINT64_MAX), COUNT);
}

static void sorted_looks_at_no_more_than_the_count(void **state)
{
    (void)state;
    const struct stretch *none = NULL;
    assert_int_equal(SORTED_UP_TO(none, (size_t)0, start, 5), 0);
    for (size_t count = 0; count <= COUNT; count++)
        assert_int_equal(up_to(count, UINT64_MAX), count);
}

static void sorted_finds_plain_numbers_too(void **state)
{
    (void)state;
    static const uint64_t numbers[] = { 1, 2, 4, 8 };
    for (uint64_t i = 0; i < 10; i++) {
        size_t expected = 0;
        for (size_t j = 0; j < 4; j++)
            expected += numbers[j] <= i;
        assert_int_equal(sorted_count_up_to(numbers, 4, sizeof(numbers[0]), 0, i),
                         expected);
    }
}

static void sorted_finds_the_first_item_that_begins_there_or_later(void **state)
{
    (void)state;
    assert_int_equal(SORTED_BEFORE(stretches, COUNT, start, 0), 0);
    assert_int_equal(SORTED_BEFORE(stretches, COUNT, start, 10), 0);
    assert_int_equal(SORTED_BEFORE(stretches, COUNT, start, 11), 1);
    assert_int_equal(SORTED_BEFORE(stretches, COUNT, start, 20), 1);
    assert_int_equal(SORTED_BEFORE(stretches, COUNT, start, UINT64_MAX), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorted_counts_the_items_that_begin_by_then),
        cmocka_unit_test(sorted_looks_at_no_more_than_the_count),
        cmocka_unit_test(sorted_finds_plain_numbers_too),
        cmocka_unit_test(sorted_finds_the_first_item_that_begins_there_or_later),
    };
    return cmocka_run_group_tests_name("base/sorted", tests, NULL, NULL);
}
