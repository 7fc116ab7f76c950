// SPDX-License-Identifier: Apache-2.0
#include "collector/database/timestamp.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moment_reads_rfc_3339),
        cmocka_unit_test(moment_reads_days_and_how_long_ago),
        cmocka_unit_test(moment_refuses_everything_else),
        cmocka_unit_test(moment_writes_what_it_reads),
        cmocka_unit_test(moment_says_how_long_ago_in_words),
    };
    return cmocka_run_group_tests_name("collector/moment", tests, NULL, NULL);
}
