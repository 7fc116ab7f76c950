// SPDX-License-Identifier: Apache-2.0
#include "collector/server/rate.h"

#include "support/test.h"

static void a_token_may_send_so_many_and_then_waits(void **state)
{
    (void)state;
    struct rate rate;
    assert_int_equal(rate_init("3/1m", &rate), CH_OK);
    int64_t now_ms = 1000000;
    for (int i = 0; i < 3; i++)
        assert_int_equal(rate_take(&rate, 1, now_ms), 0);
    unsigned wait_s = rate_take(&rate, 1, now_ms);
    assert_in_range(wait_s, 20, 21);
    assert_int_equal(rate_take(&rate, 2, now_ms), 0); // another one's is full
    now_ms += wait_s * 1000;
    assert_int_equal(rate_take(&rate, 1, now_ms), 0);
    assert_int_not_equal(rate_take(&rate, 1, now_ms), 0);
    rate_deinit(&rate);
}

static void a_clock_that_goes_back_gives_nothing(void **state)
{
    (void)state;
    struct rate rate;
    assert_int_equal(rate_init("1/s", &rate), CH_OK);
    assert_int_equal(rate_take(&rate, 0, 5000000), 0);
    assert_int_not_equal(rate_take(&rate, 0, 1000), 0);
    assert_int_not_equal(rate_take(&rate, 0, 1500), 0);
    assert_int_equal(rate_take(&rate, 0, 2500), 0);
    rate_deinit(&rate);
}

static void what_is_no_rate_is_refused(void **state)
{
    (void)state;
    struct rate rate;
    static const char *const wrong[] = { "",      "0/1m",  "5",    "5/",
                                         "5/m2",  "-1/1m", "5/0m", "5/1y",
                                         "5/1mm", "x/1m",  "5/1" };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(rate_init(wrong[i], &rate), CH_ERR_MALFORMED);
    assert_int_equal(rate_init(NULL, &rate), CH_OK);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(rate_take(&rate, 0, 0), 0);
    rate_deinit(&rate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_may_send_so_many_and_then_waits),
        cmocka_unit_test(a_clock_that_goes_back_gives_nothing),
        cmocka_unit_test(what_is_no_rate_is_refused),
    };
    return cmocka_run_group_tests_name("collector/rate", tests, NULL, NULL);
}
