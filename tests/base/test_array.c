// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

#include "support/test.h"

struct numbers {
    uint64_t *items;
    size_t count;
    size_t capacity;
};

static bool add(struct numbers *numbers, uint64_t number)
{
    if (!array_reserve(&numbers->items, &numbers->capacity, numbers->count,
                       sizeof(numbers->items[0])))
        return false;
    numbers->items[numbers->count++] = number;
    return true;
}

static void array_keeps_what_is_in_it_while_it_grows(void **state)
{
    (void)state;
    struct numbers numbers = { 0 };
    bool same = true;
    for (uint64_t i = 0; i < 1000; i++)
        assert_true(add(&numbers, i));
    for (uint64_t i = 0; i < 1000; i++)
        same &= numbers.items[i] == i;
    size_t capacity = numbers.capacity;
    free(numbers.items);
    assert_true(same);
    assert_in_range(capacity, 1000, 2000);
}

static void array_refuses_more_than_memory_has_and_stays_as_it_was(void **state)
{
    (void)state;
    static uint64_t item = 7;
    struct numbers numbers = { &item, SIZE_MAX / 8, SIZE_MAX / 8 };
    assert_false(add(&numbers, 1));
    assert_ptr_equal(numbers.items, &item);
    assert_int_equal(numbers.capacity, SIZE_MAX / 8);
    assert_int_equal(item, 7);
}

static void array_trims_to_what_is_in_it(void **state)
{
    (void)state;
    struct numbers numbers = { 0 };
    assert_true(add(&numbers, 5));
    array_trim(&numbers.items, &numbers.capacity, numbers.count, sizeof(uint64_t));
    size_t capacity = numbers.capacity;
    bool same = numbers.items[0] == 5;
    array_trim(&numbers.items, &numbers.capacity, 0, sizeof(uint64_t));
    free(numbers.items);
    assert_int_equal(capacity, 1);
    assert_true(same);
}

static void array_makes_room_for_many_at_once(void **state)
{
    (void)state;
    struct numbers numbers = { 0 };
    assert_true(add(&numbers, 5));
    bool grown = array_reserve_many(&numbers.items, &numbers.capacity, numbers.count,
                                    1000, sizeof(uint64_t));
    size_t capacity = numbers.capacity;
    bool refused = !array_reserve_many(&numbers.items, &numbers.capacity, numbers.count,
                                       SIZE_MAX, sizeof(uint64_t));
    bool same = numbers.items[0] == 5 && numbers.capacity == capacity;
    free(numbers.items);
    assert_true(grown);
    assert_in_range(capacity, 1001, 2048);
    assert_true(refused);
    assert_true(same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(array_keeps_what_is_in_it_while_it_grows),
        cmocka_unit_test(array_refuses_more_than_memory_has_and_stays_as_it_was),
        cmocka_unit_test(array_trims_to_what_is_in_it),
        cmocka_unit_test(array_makes_room_for_many_at_once),
    };
    return cmocka_run_group_tests_name("base/array", tests, NULL, NULL);
}
