// SPDX-License-Identifier: Apache-2.0

#include "support/test.h"
#include "symbolizer/arguments/argument_list.h"

static void a_value_is_found_by_the_bytes_it_was_made_from(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    struct argument_share share = { 0 };
    size_t kept = 0;
    size_t right = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        json_t *value = json_integer((json_int_t)i);
        kept += argument_share_add(&share, &i, 4 + i % 4, value);
        json_decref(value);
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        json_t *found = argument_share_find(&share, &i, 4 + i % 4);
        right += json_integer_value(found) == (json_int_t)i;
        json_decref(found);
    }
    argument_share_deinit(&share);
    assert_int_equal(kept, COUNT);
    assert_int_equal(right, COUNT);
}

static void nothing_is_found_that_was_not_added(void **state)
{
    (void)state;
    struct argument_share share = { 0 };
    json_t *value = json_true();
    const json_t *before = argument_share_find(&share, "abc", 3);
    bool kept = argument_share_add(&share, "abc", 3, value);
    const json_t *longer = argument_share_find(&share, "abcd", 4);
    const json_t *shorter = argument_share_find(&share, "ab", 2);
    const json_t *found = argument_share_find(&share, "abc", 3);
    argument_share_deinit(&share);
    assert_true(kept);
    assert_null(before);
    assert_null(longer);
    assert_null(shorter);
    assert_ptr_equal(found, value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_found_by_the_bytes_it_was_made_from),
        cmocka_unit_test(nothing_is_found_that_was_not_added),
    };
    return cmocka_run_group_tests_name("symbolizer/argument_share", tests, NULL, NULL);
}
