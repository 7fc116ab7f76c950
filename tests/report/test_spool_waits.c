// SPDX-License-Identifier: Apache-2.0
#include "report/spool/spool_waits.h"

#include "support/folder.h"
#include "support/test.h"

enum { NOW = 1700000000, YEAR = 365 * 86400 };

static struct spool open_spool(const struct folder *folder)
{
    struct spool spool = { .folder_fd = -1 };
    assert_int_equal(spool_open(folder->path, SPOOL_CREATE, &spool), CH_OK);
    return spool;
}

static struct spool_waits waits_for(int64_t seconds)
{
    return (struct spool_waits){ .reports = { .noted = NOW, .until = NOW + seconds } };
}

static void write_waits(const struct spool *spool, const char *url, int64_t seconds)
{
    const struct spool_waits waits = waits_for(seconds);
    assert_int_equal(spool_waits_write(spool, url, &waits, NOW), CH_OK);
}

static void wait_is_over_when_its_time_has_come(void **state)
{
    (void)state;
    const struct spool_wait wait = { .noted = NOW, .until = NOW + 600 };
    assert_false(spool_wait_over(&wait, NOW));
    assert_false(spool_wait_over(&wait, NOW + 599));
    assert_true(spool_wait_over(&wait, NOW + 600));
}

static void wait_is_over_when_the_clock_was_put_back(void **state)
{
    (void)state;
    const struct spool_wait wait = { .noted = NOW, .until = NOW + 600 };
    assert_true(spool_wait_over(&wait, NOW - 3600));
    assert_true(spool_wait_over(&wait, NOW - YEAR));
    assert_false(spool_wait_over(&wait, NOW - 1));
}

static void wait_without_its_beginning_never_lasts_longer_than_a_day(void **state)
{
    (void)state;
    const struct spool_wait wait = { .noted = 0, .until = NOW + YEAR };
    assert_true(spool_wait_over(&wait, NOW));
    assert_false(spool_wait_over(&wait, NOW + YEAR - 3600));
}

static void waits_are_kept_by_target(void **state)
{
    struct spool spool = open_spool(*state);
    write_waits(&spool, "http://a", 600);
    write_waits(&spool, "http://b", 60);
    int64_t until[] = { spool_waits_read(&spool, "http://a").reports.until,
                        spool_waits_read(&spool, "http://b").reports.until,
                        spool_waits_read(&spool, "http://c").reports.until };
    spool_close(&spool);
    assert_int_equal(until[0], NOW + 600);
    assert_int_equal(until[1], NOW + 60);
    assert_int_equal(until[2], 0);
}

static void waits_that_are_over_are_forgotten(void **state)
{
    struct spool spool = open_spool(*state);
    const struct spool_waits later = waits_for(3600);
    write_waits(&spool, "http://a", 60);
    assert_int_equal(spool_waits_write(&spool, "http://b", &later, NOW + 61), CH_OK);
    int64_t until = spool_waits_read(&spool, "http://a").reports.until;
    spool_close(&spool);
    assert_int_equal(until, 0);
}

static void waits_start_anew_where_the_file_is_damaged(void **state)
{
    static const char *const damaged[] = {
        "",
        "{",
        "[]",
        "{\"targets\":7}",
        "{\"targets\":{\"http://a\":[]}}",
        "{\"targets\":{\"http://a\":{\"reports\":\"x\",\"attachments\":[\"y\"]}}}"
    };
    struct spool spool = open_spool(*state);
    for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
        assert_int_equal(folder_write(*state, "waits.json", damaged[i]), 0);
        assert_int_equal(spool_waits_read(&spool, "http://a").reports.until, 0);
        write_waits(&spool, "http://a", 600);
        assert_int_equal(spool_waits_read(&spool, "http://a").reports.until, NOW + 600);
    }
    spool_close(&spool);
}

// A watcher of the folder must not be woken by its own looking.
static void waits_are_read_without_leaving_a_trace(void **state)
{
    struct spool spool = open_spool(*state);
    (void)spool_waits_read(&spool, "http://a");
    bool there = access(folder_path(*state, "waits.lock"), F_OK) == 0;
    spool_close(&spool);
    assert_false(there);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wait_is_over_when_its_time_has_come),
        cmocka_unit_test(wait_is_over_when_the_clock_was_put_back),
        cmocka_unit_test(wait_without_its_beginning_never_lasts_longer_than_a_day),
        TEST(waits_are_kept_by_target),
        TEST(waits_that_are_over_are_forgotten),
        TEST(waits_start_anew_where_the_file_is_damaged),
        TEST(waits_are_read_without_leaving_a_trace),
    };
    return cmocka_run_group_tests_name("report/spool_waits", tests, NULL, NULL);
}
