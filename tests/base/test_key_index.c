// SPDX-License-Identifier: Apache-2.0
#include "base/key_index.h"

#include <stdlib.h>

#include "support/test.h"

enum { MANY = 100000 };

// key_of spreads keys as addresses and as pairs of small numbers are.
static uint64_t key_of(uint32_t i)
{
    return i % 2 != 0 ? UINT64_C(0x7f0000000000) + (uint64_t)i * 4096
                      : (uint64_t)i << 32 | i % 7;
}

static bool add_keys(struct key_index *index)
{
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t *number = key_index_place(index, i, key_of(i));
        if (number == NULL || *number != 0)
            return false;
        *number = i + 1;
    }
    return true;
}

static void each_key_has_the_number_that_was_stored(void **state)
{
    (void)state;
    struct key_index index = { .slots = NULL };
    bool right = add_keys(&index);
    for (uint32_t i = 0; i < MANY; i++)
        right &= *key_index_place(&index, MANY, key_of(i)) == i + 1;
    right &= *key_index_place(&index, MANY, 12345) == 0;
    free(index.slots);
    assert_true(right);
}

static void keys_are_spread_so_that_searches_are_short(void **state)
{
    (void)state;
    struct key_index index = { .slots = NULL };
    bool right = add_keys(&index);
    uint64_t steps = 0;
    for (size_t i = 0; i < index.slot_count; i++) {
        if (index.slots[i].number != 0) {
            uint64_t hash = key_index_hash(&index, index.slots[i].key);
            steps += (i - (size_t)(hash >> 32)) & (index.slot_count - 1);
        }
    }
    free(index.slots);
    assert_true(right);
    assert_in_range(steps, 0, 4 * MANY);
}

static void two_tables_have_a_key_in_different_slots(void **state)
{
    (void)state;
    struct key_index a = { .slots = NULL };
    struct key_index b = { .slots = NULL };
    bool right = add_keys(&a) && add_keys(&b);
    bool same = a.factor == b.factor;
    free(a.slots);
    free(b.slots);
    assert_true(right);
    assert_false(same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_has_the_number_that_was_stored),
        cmocka_unit_test(keys_are_spread_so_that_searches_are_short),
        cmocka_unit_test(two_tables_have_a_key_in_different_slots),
    };
    return cmocka_run_group_tests_name("base/key_index", tests, NULL, NULL);
}
