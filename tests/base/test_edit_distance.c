// SPDX-License-Identifier: Apache-2.0

#include <stdint.h>

#include "base/text.h"
#include "support/test.h"

static void slips_count_letters_inserted_deleted_and_replaced(void **state)
{
    (void)state;
    assert_int_equal(edit_distance("host", "host"), 0);
    assert_int_equal(edit_distance("hots", "host"), 2);
    assert_int_equal(edit_distance("hosts", "host"), 1);
    assert_int_equal(edit_distance("ost", "host"), 1);
    assert_int_equal(edit_distance("post", "host"), 1);
    assert_int_equal(edit_distance("", "host"), 4);
}

static void a_name_that_is_too_long_is_far_from_any(void **state)
{
    (void)state;
    assert_true(edit_distance("a", "abcdefghijabcdefghijabcdefghijabc") == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slips_count_letters_inserted_deleted_and_replaced),
        cmocka_unit_test(a_name_that_is_too_long_is_far_from_any),
    };
    return cmocka_run_group_tests_name("base/edit_distance", tests, NULL, NULL);
}
