// SPDX-License-Identifier: Apache-2.0
#include "collector/database/kept.h"

#include "support/test.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, NOW = 100 * HOUR };

static void nothing_is_shown_before_it_was_summed(void **state)
{
    (void)state;
    struct kept kept = { 0 };
    assert_false(kept_take(&kept, NOW));
    assert_true(kept_is_due(&kept, true, NOW));
    kept_renew(&kept, false, NOW);
    assert_false(kept_take(&kept, NOW));
    assert_false(kept_is_due(&kept, true, NOW + 59 * SECOND));
}

static void what_somebody_asks_for_is_summed_every_ten_seconds(void **state)
{
    (void)state;
    struct kept kept = { 0 };
    kept_renew(&kept, true, NOW);
    assert_false(kept_is_due(&kept, true, NOW + 11 * SECOND));
    assert_true(kept_take(&kept, NOW + 9 * SECOND));
    assert_false(kept_is_due(&kept, true, NOW + 9 * SECOND));
    assert_true(kept_is_due(&kept, false, NOW + 10 * SECOND));
    assert_true(kept_take(&kept, NOW + 11 * SECOND));
    kept_renew(&kept, true, NOW + 11 * SECOND);
    assert_false(kept_is_due(&kept, true, NOW + 30 * SECOND));
}

static void what_was_asked_for_within_an_hour_is_summed_every_minute(void **state)
{
    (void)state;
    struct kept kept = { .asked_ms = NOW };
    assert_true(kept_is_due(&kept, false, NOW));
    kept_renew(&kept, true, NOW + HOUR - 2 * MINUTE);
    assert_true(kept_is_due(&kept, false, NOW + HOUR - MINUTE));
    kept_renew(&kept, true, NOW + HOUR - MINUTE);
    assert_false(kept_is_due(&kept, false, NOW + HOUR + MINUTE));
    assert_true(kept_is_due(&kept, true, NOW + HOUR + MINUTE));
}

static void what_nobody_summed_again_is_not_shown(void **state)
{
    (void)state;
    struct kept kept = { 0 };
    kept_renew(&kept, true, NOW);
    assert_true(kept_take(&kept, NOW + 2 * MINUTE - 1));
    assert_false(kept_take(&kept, NOW + 2 * MINUTE));
}

static void a_clock_that_was_set_back_makes_it_due(void **state)
{
    (void)state;
    struct kept kept = { 0 };
    kept_renew(&kept, true, NOW);
    assert_false(kept_take(&kept, NOW - 1));
    assert_true(kept_is_due(&kept, true, NOW - 1));
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
    return cmocka_run_group_tests_name("collector/kept", tests, NULL, NULL);
}
