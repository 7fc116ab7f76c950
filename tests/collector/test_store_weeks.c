// SPDX-License-Identifier: Apache-2.0
//
// Weeks are a matter of PostgreSQL; over SQLite the same calls do nothing.
#include <pthread.h>
#include <stdlib.h>

#include "collector/query/store_values.h"
#include "collector/store_fixture.h"

#define WEEK_MS (7 * (int64_t)TIMESTAMP_DAY_MS)

static bool has_weeks(void)
{
    return getenv("CRASHHOOK_TEST_POSTGRESQL") != NULL;
}

static int add_received(struct fixture *fixture, unsigned number, int weeks_ago)
{
    struct entry entry = make_entry(fixture, number, "aaaaaaaa", 0);
    entry.received_ms -= weeks_ago * WEEK_MS;
    return add(fixture, &entry, "body");
}

// drop gives how many weeks were dropped, or -1.
static int drop(struct fixture *fixture)
{
    char error[STORE_ERROR_SIZE];
    size_t dropped = 0;
    if (store_drop_weeks(fixture->store, fixture->now_ms, &dropped, error) == CH_OK)
        return (int)dropped;
    print_error("%s\n", error);
    return -1;
}

static bool trim(struct fixture *fixture, int weeks)
{
    char error[STORE_ERROR_SIZE];
    size_t removed = 0;
    struct store_retention retention = { .age_ms = weeks * WEEK_MS };
    return store_trim(fixture->store, &retention, &removed, error) == CH_OK;
}

static bool has_body(struct fixture *fixture, unsigned number)
{
    struct entry entry = make_entry(fixture, number, "", 0);
    struct seen seen = { 0 };
    return store_find_report(fixture->store, entry.id, see_body, &seen) == CH_OK &&
           strcmp(seen.body, "body") == 0;
}

static void weeks_that_hold_nothing_any_more_are_dropped(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(add_received(fixture, 1, 9), STORE_ADDED);
    assert_int_equal(add_received(fixture, 2, 5), STORE_ADDED);
    assert_int_equal(add_received(fixture, 3, 0), STORE_ADDED);
    // Each was made with the one after it, which was never filled.
    assert_int_equal(drop(fixture), has_weeks() ? 2 : 0);
    assert_true(has_body(fixture, 1));
    assert_true(has_body(fixture, 2));
    assert_true(trim(fixture, 7));
    assert_int_equal(drop(fixture), has_weeks() ? 1 : 0);
    assert_int_equal(drop(fixture), 0);
    assert_false(has_body(fixture, 1));
    assert_true(has_body(fixture, 2));
    assert_true(has_body(fixture, 3));
}

static void this_week_and_the_last_stay_though_they_are_empty(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(add_received(fixture, 1, 1), STORE_ADDED);
    assert_int_equal(add_received(fixture, 2, 0), STORE_ADDED);
    fixture->now_ms += 1; // both are older than nothing then
    assert_int_equal(drop(fixture), 0);
}

static void a_week_that_was_dropped_is_made_again(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(add_received(fixture, 1, 5), STORE_ADDED);
    assert_int_equal(add_received(fixture, 2, 0), STORE_ADDED);
    assert_true(trim(fixture, 3));
    assert_int_equal(drop(fixture), has_weeks() ? 2 : 0);
    assert_int_equal(add_received(fixture, 3, 5), STORE_ADDED);
    assert_true(has_body(fixture, 3));
}

static void nobody_waits_long_for_weeks_to_be_dropped(void **state)
{
    struct fixture *fixture = *state;
    char error[SQL_ERROR_SIZE];
    struct sql *reader = NULL;
    struct sql_options options = { .name = fixture->name };
    assert_int_equal(add_received(fixture, 1, 5), STORE_ADDED);
    assert_true(trim(fixture, 3));
    if (!has_weeks())
        return;
    assert_int_equal(sql_open(&options, error, &reader), CH_OK);
    bool reading = sql_script(reader, "BEGIN; SELECT count(*) FROM bodies") == CH_OK;
    int while_reading = drop(fixture);
    bool done = sql_script(reader, "COMMIT") == CH_OK;
    sql_close(reader);
    assert_true(reading && done);
    assert_int_equal(while_reading, 0);
    assert_int_equal(drop(fixture), 2);
}

enum { COLLECTORS = 3, ROUNDS = 8 };

struct collector_like {
    struct fixture fixture;
    unsigned number;
    bool failed;
    pthread_t thread;
};

static void *store_trim_and_drop(void *context)
{
    struct collector_like *one = context;
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned id = one->number * 1000 + i * 2;
        one->failed |=
            add_received(&one->fixture, id, 4 + (int)(i % 3)) != STORE_ADDED ||
            add_received(&one->fixture, id + 1, 0) != STORE_ADDED ||
            !trim(&one->fixture, 3) || drop(&one->fixture) < 0;
    }
    return NULL;
}

static void several_collectors_drop_weeks_while_they_store(void **state)
{
    struct fixture *fixture = *state;
    struct collector_like each[COLLECTORS] = { 0 };
    bool failed = false;
    for (unsigned i = 0; i < COLLECTORS; i++) {
        each[i] = (struct collector_like){ .fixture = *fixture, .number = i + 1 };
        failed |= !open_store(&each[i].fixture);
    }
    for (unsigned i = 0; i < COLLECTORS && !failed; i++)
        failed |=
            pthread_create(&each[i].thread, NULL, store_trim_and_drop, &each[i]) != 0;
    for (unsigned i = 0; i < COLLECTORS && each[i].thread != 0; i++) {
        pthread_join(each[i].thread, NULL);
        failed |= each[i].failed;
    }
    for (unsigned i = 0; i < COLLECTORS; i++)
        store_close(each[i].fixture.store);
    assert_false(failed);
    struct store_totals totals = { 0 };
    assert_int_equal(store_count(fixture->store, "", &totals), CH_OK);
    assert_int_equal(totals.reports, COLLECTORS * ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(weeks_that_hold_nothing_any_more_are_dropped),
        STORE_TEST(this_week_and_the_last_stay_though_they_are_empty),
        STORE_TEST(a_week_that_was_dropped_is_made_again),
        STORE_TEST(nobody_waits_long_for_weeks_to_be_dropped),
        STORE_TEST(several_collectors_drop_weeks_while_they_store),
    };
    return cmocka_run_group_tests_name("collector/store_weeks", tests, NULL, NULL);
}
