// SPDX-License-Identifier: Apache-2.0
#include "collector/entry/release_order.h"

#include "support/test.h"

static void releases_are_ordered_as_people_number_them(void **state)
{
    (void)state;
    // Each is older than the next.
    static const char *const rising[] = {
        "",
        "0.9",
        "1.0-alpha",
        "1.0-alpha.2",
        "1.0-beta",
        "1.0-rc1",
        "1.0-rc2",
        "1.0-rc10",
        "v1.0",
        "1.0.1",
        "app@1.9",
        "1.10",
        "1.10+build7",
        "1.10.0.1",
        "2.0~rc1",
        "2.0",
        "2.0-hotfix",
        "2.0.1-rc.1",
        "2.0.1",
        "10",
        "2026.01.15",
        "2026.1.16",
        "99999999999999999999999",
    };
    for (size_t i = 0; i < sizeof(rising) / sizeof(rising[0]); i++) {
        for (size_t k = 0; k < sizeof(rising) / sizeof(rising[0]); k++) {
            int order = 7;
            assert_true(release_order(rising[i], rising[k], &order));
            if ((order > 0) != (i > k) || (order < 0) != (i < k))
                fail_msg("'%s' against '%s': %d", rising[i], rising[k], order);
        }
    }
}

static void the_same_release_may_be_written_in_several_ways(void **state)
{
    (void)state;
    static const char *const same[] = { "1.2.3", "v1.2.3", "app@1.2.3", "1.02.3",
                                        "1-2-3", "1.2.3.", "V1.2_3" };
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        int order = 7;
        assert_true(release_order(same[0], same[i], &order));
        assert_int_equal(order, 0);
    }
}

static void hashes_of_commits_have_no_order(void **state)
{
    (void)state;
    int order = 7;
    assert_false(release_order("a1b2c3d4", "deadbeef", &order));
    assert_false(release_order("a1b2c3d4", "1.0", &order));
    assert_true(release_order("a1b2c3d4", "a1b2c3d4", &order));
    assert_int_equal(order, 0);
    assert_true(release_order("20260115", "20260116", &order)); // a day, not a hash
    assert_true(order < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(releases_are_ordered_as_people_number_them),
        cmocka_unit_test(the_same_release_may_be_written_in_several_ways),
        cmocka_unit_test(hashes_of_commits_have_no_order),
    };
    return cmocka_run_group_tests_name("collector/release_order", tests, NULL, NULL);
}
