// SPDX-License-Identifier: Apache-2.0
#include "collector/database/cache_age.h"

#include "support/test.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, NOW = 100 * HOUR };

static void nothing_is_shown_before_it_was_summed(void **state)
{
    (void)state;
    struct cache_age age = { 0 };
    assert_false(cache_age_take(&age, NOW));
    assert_true(cache_age_is_due(&age, true, NOW));
    cache_age_renew(&age, false, NOW);
    assert_false(cache_age_take(&age, NOW));
    assert_false(cache_age_is_due(&age, true, NOW + 59 * SECOND));
}

static void what_somebody_asks_for_is_summed_every_ten_seconds(void **state)
{
    (void)state;
    struct cache_age age = { 0 };
    cache_age_renew(&age, true, NOW);
    assert_false(cache_age_is_due(&age, true, NOW + 11 * SECOND));
    assert_true(cache_age_take(&age, NOW + 9 * SECOND));
    assert_false(cache_age_is_due(&age, true, NOW + 9 * SECOND));
    assert_true(cache_age_is_due(&age, false, NOW + 10 * SECOND));
    assert_true(cache_age_take(&age, NOW + 11 * SECOND));
    cache_age_renew(&age, true, NOW + 11 * SECOND);
    assert_false(cache_age_is_due(&age, true, NOW + 30 * SECOND));
}

static void what_was_asked_for_within_an_hour_is_summed_every_minute(void **state)
{
    (void)state;
    struct cache_age age = { .read_ms = NOW };
    assert_true(cache_age_is_due(&age, false, NOW));
    cache_age_renew(&age, true, NOW + HOUR - 2 * MINUTE);
    assert_true(cache_age_is_due(&age, false, NOW + HOUR - MINUTE));
    cache_age_renew(&age, true, NOW + HOUR - MINUTE);
    assert_false(cache_age_is_due(&age, false, NOW + HOUR + MINUTE));
    assert_true(cache_age_is_due(&age, true, NOW + HOUR + MINUTE));
}

static void what_nobody_summed_again_is_not_shown(void **state)
{
    (void)state;
    struct cache_age age = { 0 };
    cache_age_renew(&age, true, NOW);
    assert_true(cache_age_take(&age, NOW + 2 * MINUTE - 1));
    assert_false(cache_age_take(&age, NOW + 2 * MINUTE));
}

static void a_clock_that_was_set_back_makes_it_due(void **state)
{
    (void)state;
    struct cache_age age = { 0 };
    cache_age_renew(&age, true, NOW);
    assert_false(cache_age_take(&age, NOW - 1));
    assert_true(cache_age_is_due(&age, true, NOW - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_shown_before_it_was_summed),
        cmocka_unit_test(what_somebody_asks_for_is_summed_every_ten_seconds),
        cmocka_unit_test(what_was_asked_for_within_an_hour_is_summed_every_minute),
        cmocka_unit_test(what_nobody_summed_again_is_not_shown),
        cmocka_unit_test(a_clock_that_was_set_back_makes_it_due),
    };
    return cmocka_run_group_tests_name("collector/cache_age", tests, NULL, NULL);
}
