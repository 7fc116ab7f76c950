// SPDX-License-Identifier: Apache-2.0
#include "collector/database/timestamp.h"

#include <stdlib.h>
#include <time.h>

#include "collector/server/time_zone.h"
#include "support/test.h"

static const int64_t now_ms = 1767225600000; // 2026-01-01T00:00:00Z

// read_or_minus is what text says, or -1 where it is refused.
static int64_t read_or_minus(const char *text)
{
    int64_t out = 0;
    return timestamp_read(text, now_ms, &out) == CH_OK ? out : -1;
}

static void moment_reads_rfc_3339(void **state)
{
    (void)state;
    assert_int_equal(read_or_minus("2026-01-01T00:00:00Z"), now_ms);
    assert_int_equal(read_or_minus("2026-01-01T00:00:00.250Z"), now_ms + 250);
    assert_int_equal(read_or_minus("2026-01-01T02:30:00.5+02:30"), now_ms + 500);
    assert_int_equal(read_or_minus("2025-12-31T23:59:59.999999999-00:00"), now_ms - 1);
}

static void moment_reads_days_and_how_long_ago(void **state)
{
    (void)state;
    assert_int_equal(read_or_minus("2026-01-01"), now_ms);
    assert_int_equal(read_or_minus("90m"), now_ms - 90 * 60000);
    assert_int_equal(read_or_minus("24h"), now_ms - TIMESTAMP_DAY_MS);
    assert_int_equal(read_or_minus("2w"), now_ms - 14 * (int64_t)TIMESTAMP_DAY_MS);
}

static void moment_refuses_everything_else(void **state)
{
    (void)state;
    static const char *const wrong[] = { "",
                                         "yesterday",
                                         "7",
                                         "7dd",
                                         "999999d",
                                         "-7d",
                                         "2026-13-01",
                                         "1969-12-31",
                                         "2026-01-01T00:00:00",
                                         "2026-01-01T00:00:00+2",
                                         "2026-01-01T00:00:00Zx",
                                         "2026-01-01x",
                                         "99999-01-01" };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(read_or_minus(wrong[i]), -1);
}

static void moment_writes_what_it_reads(void **state)
{
    (void)state;
    char text[TIMESTAMP_SIZE];
    timestamp_write(now_ms + 7, text);
    assert_string_equal(text, "2026-01-01T00:00:00.007Z");
}

static void moment_says_how_long_ago_in_words(void **state)
{
    (void)state;
    char text[TIMESTAMP_SIZE];
    timestamp_write_ago(now_ms - 59000, now_ms, text);
    assert_string_equal(text, "just now");
    timestamp_write_ago(now_ms - 60000, now_ms, text);
    assert_string_equal(text, "1 minute ago");
    timestamp_write_ago(now_ms - 3 * (int64_t)TIMESTAMP_DAY_MS, now_ms, text);
    assert_string_equal(text, "3 days ago");
    timestamp_write_ago(now_ms - 55 * (int64_t)TIMESTAMP_DAY_MS, now_ms, text);
    assert_string_equal(text, "55 days ago");
    timestamp_write_ago(now_ms - 100 * (int64_t)TIMESTAMP_DAY_MS, now_ms, text);
    assert_string_equal(text, "3 months ago");
    timestamp_write_ago(now_ms + 5000, now_ms, text);
    assert_string_equal(text, "just now");
}

enum { DAY_S = 86400, STEP_S = 5 * DAY_S / 2 + 1 };

static void every_offset_from_1970_to_2100_is_the_one_of_the_c_library(void **state)
{
    (void)state;
    static const char *const names[] = {
        "Europe/Berlin", "America/New_York",  "America/Sao_Paulo",
        "Asia/Kolkata",  "Asia/Kathmandu",    "Australia/Lord_Howe",
        "Pacific/Apia",  "Africa/Casablanca", "Asia/Tehran",
        "America/Nuuk",  "Europe/Dublin",     "Asia/Jerusalem",
        "UTC",           "Etc/GMT+12",        "Pacific/Kiritimati",
        "EST5EDT",
    };
    if (time_zone_find("Europe/Berlin") == NULL)
        skip(); // the system has no zones
    size_t compared = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct time_zone *zone = time_zone_find(names[i]);
        if (zone == NULL)
            continue;
        assert_string_equal(time_zone_name(zone), names[i]);
        setenv("TZ", names[i], 1);
        tzset();
        for (time_t at = 0; at < 130L * 365 * DAY_S; at += STEP_S, compared++) {
            struct tm local;
            localtime_r(&at, &local);
            if (time_zone_offset(zone, at) != local.tm_gmtoff)
                fail_msg("%s at %lld: %d, and not %ld", names[i], (long long)at,
                         time_zone_offset(zone, at), local.tm_gmtoff);
        }
    }
    unsetenv("TZ");
    print_message("%zu offsets compared\n", compared);
    assert_true(compared > 100000);
}

static void the_hour_of_a_change_is_exact(void **state)
{
    (void)state;
    const struct time_zone *zone = time_zone_find("Europe/Berlin");
    if (zone == NULL)
        skip();
    // 29 March 2026 and 30 March 2070, 01:00 UTC.
    static const int64_t begins[] = { 1774746000, 3163366800 };
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(time_zone_offset(zone, begins[i] - 1), 3600);
        assert_int_equal(time_zone_offset(zone, begins[i]), 7200);
    }
}

static void times_are_written_as_iso_8601(void **state)
{
    (void)state;
    char text[TIME_ZONE_TEXT];
    time_zone_write(NULL, 1795000000000, false, text);
    assert_string_equal(text, "2026-11-18T11:06:40Z");
    const struct time_zone *zone = time_zone_find("America/St_Johns");
    if (zone == NULL)
        skip();
    time_zone_write(zone, 1795000000000, true, text);
    assert_string_equal(text, "2026-11-18T07:36-03:30");
    time_zone_write(zone, 0, false, text); // before 1970 there
    assert_string_equal(text, "1970-01-01T00:00:00-03:30");
}

static void names_that_lead_elsewhere_are_no_zones(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",         "../../../etc/passwd", "/etc/localtime",
        "Europe",   "Mars/Olympus",        "zone.tab",
        "tzdata.zi"
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_null(time_zone_find(names[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moment_reads_rfc_3339),
        cmocka_unit_test(moment_reads_days_and_how_long_ago),
        cmocka_unit_test(moment_refuses_everything_else),
        cmocka_unit_test(moment_writes_what_it_reads),
        cmocka_unit_test(moment_says_how_long_ago_in_words),
        cmocka_unit_test(every_offset_from_1970_to_2100_is_the_one_of_the_c_library),
        cmocka_unit_test(the_hour_of_a_change_is_exact),
        cmocka_unit_test(times_are_written_as_iso_8601),
        cmocka_unit_test(names_that_lead_elsewhere_are_no_zones),
    };
    return cmocka_run_group_tests_name("collector/moment", tests, NULL, NULL);
}
