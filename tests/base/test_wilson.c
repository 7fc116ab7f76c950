// SPDX-License-Identifier: Apache-2.0
#include "base/wilson.h"

#include "support/test.h"

static void check_interval(double hits, double count, double low, double high)
{
    double out_low;
    double out_high;
    wilson_interval(hits, count, &out_low, &out_high);
    assert_true(out_low > low - 0.0001 && out_low < low + 0.0001);
    assert_true(out_high > high - 0.0001 && out_high < high + 0.0001);
}

static void the_interval_is_that_of_tables(void **unused)
{
    (void)unused;
    check_interval(5, 100, 0.0215, 0.1118);
    check_interval(50, 100, 0.4038, 0.5962);
}

static void it_does_not_leave_the_range_of_a_share(void **unused)
{
    (void)unused;
    check_interval(0, 10, 0, 0.2775);
    check_interval(10, 10, 0.7225, 1);
    check_interval(1, 1, 0.2065, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interval_is_that_of_tables),
        cmocka_unit_test(it_does_not_leave_the_range_of_a_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
