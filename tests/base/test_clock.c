// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include "support/test.h"

static void dates_of_utc_are_those_of_the_c_library(void **state)
{
    enum { CASES = 100000 };
    const int64_t end = INT64_C(253402300800); // of the year 9999
    (void)state;
    for (int64_t i = 0; i < CASES; i++) {
        // Each step ends in another month, day and second.
        int64_t seconds = i < 800 ? i * 43200 : i * (end / CASES) + i;
        if (seconds >= end)
            break;
        struct tm wanted;
        struct tm date;
        time_t time = (time_t)seconds;
        assert_non_null(gmtime_r(&time, &wanted));
        clock_utc_date(seconds, &date);
        assert_int_equal(date.tm_year, wanted.tm_year);
        assert_int_equal(date.tm_mon, wanted.tm_mon);
        assert_int_equal(date.tm_mday, wanted.tm_mday);
        assert_int_equal(date.tm_hour, wanted.tm_hour);
        assert_int_equal(date.tm_min, wanted.tm_min);
        assert_int_equal(date.tm_sec, wanted.tm_sec);
        assert_int_equal(clock_utc_seconds(&date), seconds);
    }
}

static void dates_are_written_with_milliseconds(void **state)
{
    char text[CLOCK_UTC_SIZE];
    (void)state;
    clock_utc_write(0, text);
    assert_string_equal(text, "1970-01-01T00:00:00.000Z");
    clock_utc_write(UINT64_C(1795767420007), text);
    assert_string_equal(text, "2026-11-27T08:17:00.007Z");
}

static void a_date_is_read_only_in_the_form_that_is_written(void **state)
{
    char text[CLOCK_UTC_SIZE];
    (void)state;
    for (uint64_t ms = 7; ms < UINT64_C(253402300800000); ms = ms * 3 + 13) {
        clock_utc_write(ms, text);
        assert_int_equal(clock_utc_read(text), ms);
    }
    assert_int_equal(clock_utc_read("2026-11-27T08:17:00"), INT64_C(1795767420000));
    assert_int_equal(clock_utc_read("2026-11-27T08:17:00Z"), INT64_C(1795767420000));
    assert_int_equal(clock_utc_read("2026-11-27T08:17:00.-7Z"), INT64_C(1795767420000));
    assert_int_equal(clock_utc_read("1969-12-31T23:59:59Z"), -1);
    assert_int_equal(clock_utc_read("2026-11-27"), -1);
    assert_int_equal(clock_utc_read(""), -1);
    assert_int_equal(clock_utc_read(NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates_of_utc_are_those_of_the_c_library),
        cmocka_unit_test(dates_are_written_with_milliseconds),
        cmocka_unit_test(a_date_is_read_only_in_the_form_that_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
