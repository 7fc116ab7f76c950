// SPDX-License-Identifier: Apache-2.0
//
// Retention: what it removes, of all projects and of single ones.
#include "collector/query/store_values.h"
#include "collector/store/store_internal.h"
#include "collector/store/store_move.h"
#include "collector/store_fixture.h"

// trim_all gives how many reports retention removed, or -1.
static int trim_all(struct fixture *fixture, struct store_retention retention)
{
    char error[STORE_ERROR_SIZE];
    size_t removed = 1;
    int sum = 0;
    while (removed != 0) {
        if (store_trim(fixture->store, &retention, &removed, error) != CH_OK)
            return -1;
        sum += (int)removed;
    }
    return sum;
}

static void retention_by_age_removes_reports_and_groups_left_empty(void **state)
{
    struct fixture *fixture = *state;
    struct store_totals totals = { 0 };
    for (unsigned i = 0; i < 6; i++) {
        struct entry entry = make_entry(fixture, i, i < 4 ? "aaaaaaaa" : "bbbbbbbb", 0);
        entry.received_ms -= i < 3 || i == 4 ? 10 * (int64_t)TIMESTAMP_DAY_MS : 0;
        entry.received_ms -= i == 5 ? 11 * (int64_t)TIMESTAMP_DAY_MS : 0;
        entry.tags[0] = (struct entry_tag){ .key = "zone", .value = "north" };
        entry.tag_count = 1;
        assert_int_equal(add(fixture, &entry, "body"), STORE_ADDED);
    }
    struct store_retention week = { .age_ms = 7 * (int64_t)TIMESTAMP_DAY_MS };
    assert_int_equal(trim_all(fixture, week), 5);
    assert_string_equal(list(fixture, (struct store_filter){ 0 }).ids, "3");
    struct seen seen = find_group(fixture, "aaaaaaaa");
    assert_int_equal(seen.group.count, 4); // that came
    assert_int_equal(seen.group.kept, 1);
    assert_string_equal(find_group(fixture, "bbbbbbbb").ids, "failed");
    assert_int_equal(store_count(fixture->store, "", &totals), CH_OK);
    assert_int_equal(totals.reports, 1);
    assert_int_equal(totals.groups, 1);
    assert_int_equal(trim_all(fixture, week), 0);
}

static void retention_per_group_leaves_the_latest_crashes(void **state)
{
    struct fixture *fixture = *state;
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(add_new(fixture, i, "aaaaaaaa", (int)i), STORE_ADDED);
    assert_int_equal(add_new(fixture, 9, "bbbbbbbb", 200), STORE_ADDED);
    assert_int_equal(trim_all(fixture, (struct store_retention){ .per_group = 3 }), 5);
    assert_string_equal(list(fixture, (struct store_filter){ 0 }).ids, "0129");
    assert_int_equal(find_group(fixture, "aaaaaaaa").group.count, 8);
    assert_string_equal(list_groups(fixture, where(STORE_KEY_RELEASE, "1.0")).ids,
                        "ab");
}

static void retention_by_size_removes_the_oldest_until_the_rest_fits(void **state)
{
    enum { COUNT = 2 * STORE_TRIM_STEP + 88, BODY = 20000, ROOM = COUNT * BODY / 2 };
    struct fixture *fixture = *state;
    struct store_totals totals = { 0 };
    char body[BODY];
    char error[STORE_ERROR_SIZE];
    size_t dropped = 0;
    memset(body, 'x', sizeof(body) - 1);
    body[sizeof(body) - 1] = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        struct entry entry = make_entry(fixture, i, "aaaaaaaa", 0);
        // Half of them came in each of two weeks that are over.
        entry.received_ms -= (int64_t)(i < COUNT / 2 ? 35 : 28) * TIMESTAMP_DAY_MS;
        assert_int_equal(add(fixture, &entry, body), STORE_ADDED);
    }
    struct store_retention room = { .size_bytes = ROOM + ROOM / 2 };
    int removed = trim_all(fixture, room);
    assert_true(removed >= COUNT / 4);
    assert_true(removed <= COUNT * 3 / 4);
    assert_int_equal(store_count(fixture->store, "", &totals), CH_OK);
    assert_int_equal(totals.reports, COUNT - removed);
    assert_string_equal(find_group(fixture, "aaaaaaaa").ids, "a");
    assert_int_equal(store_drop_weeks(fixture->store, timestamp_now(), &dropped, error),
                     CH_OK);
    assert_int_equal(trim_all(fixture, room), 0);
}

// add_to_project adds a crash of a project; what was received days ago.
static void add_to_project(struct fixture *fixture, unsigned number,
                           const char *project, const char *group, int days)
{
    struct entry entry = make_entry(fixture, number, group, (int)number);
    entry.time_ms -= days * (int64_t)TIMESTAMP_DAY_MS;
    entry.received_ms -= days * (int64_t)TIMESTAMP_DAY_MS;
    (void)snprintf(entry.project, sizeof(entry.project), "%s", project);
    assert_int_equal(add(fixture, &entry, "body"), STORE_ADDED);
}

static void retention_of_a_project_is_what_is_set_of_it(void **state)
{
    struct fixture *fixture = *state;
    static const struct store_project_retention projects[] = {
        { "shop", 30 * (int64_t)TIMESTAMP_DAY_MS, STORE_KEEP_AS_OTHERS },
        { "bank", 0, 1 },
        { "gone", 1, 1 },
    };
    for (unsigned i = 0; i < 3; i++) {
        add_to_project(fixture, i, "", "aaaaaaaa", i == 0 ? 20 : 0);
        add_to_project(fixture, 3 + i, "shop", "bbbbbbbb", i == 0 ? 40 : 20);
        add_to_project(fixture, 6 + i, "bank", "cccccccc", 90);
    }
    struct store_retention retention = { .age_ms = 7 * (int64_t)TIMESTAMP_DAY_MS,
                                         .projects = projects,
                                         .project_count = 3 };
    // One of no project is over 7 days old, one of the shop over 30; the bank keeps
    // the latest of a group for ever.
    assert_int_equal(trim_all(fixture, retention), 4);
    assert_string_equal(list(fixture, (struct store_filter){ 0 }).ids, "12456");
    assert_int_equal(find_group(fixture, "cccccccc").group.kept, 1);
    assert_int_equal(trim_all(fixture, retention), 0);
    retention.per_group = 1; // the shop has no number of its own
    assert_int_equal(trim_all(fixture, retention), 2);
    assert_string_equal(list(fixture, (struct store_filter){ 0 }).ids, "146");
}

// add_of_host adds a crash of a machine, hours ago.
static int add_of_host(struct fixture *fixture, unsigned number, const char *host,
                       int hours)
{
    struct entry entry = make_entry(fixture, number, "aaaaaaaa", 60 * hours);
    (void)snprintf(entry.hostname, sizeof(entry.hostname), "%s", host);
    return add(fixture, &entry, "body");
}

static void values_of_removed_reports_are_swept_once_a_day(void **state)
{
    struct fixture *fixture = *state;
    const struct store_retention two = { .per_group = 2 };
    static const struct {
        const char *host;
        int hours;
    } crashes[] = { { "one", 100 }, { "two", 99 }, { "three", 98 }, { "four", 40 } };
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(add_of_host(fixture, i, crashes[i].host, crashes[i].hours),
                         STORE_ADDED);
        // The third crash removes the first one's value. When the second report goes,
        // the oldest is an hour younger: its value stays until that is a day.
        assert_int_equal(trim_all(fixture, two), i < 2 ? 0 : 1);
        const char *host = crashes[i < 2 ? 0 : i - 2].host;
        assert_string_equal(list_groups(fixture, where(STORE_KEY_HOST, host)).ids,
                            i == 2 ? "" : "a");
    }
    assert_int_equal(add_of_host(fixture, 5, "five", 1), STORE_ADDED);
    assert_int_equal(trim_all(fixture, two), 1);
    assert_string_equal(list_groups(fixture, where(STORE_KEY_HOST, "two")).ids, "");
    assert_string_equal(list_groups(fixture, where(STORE_KEY_HOST, "five")).ids, "a");
}

// count_rows gives what a query counts, or -1.
static int64_t count_rows(struct fixture *fixture, const char *query)
{
    char error[SQL_ERROR_SIZE];
    int64_t count = -1;
    struct sql *sql = NULL;
    struct sql_options options = { .name = fixture->name, .reading = true };
    if (sql_open(&options, error, &sql) != CH_OK)
        return -1;
    if (sql_query(sql, query, NULL, 0, sql_take_number, &count) != CH_OK)
        count = -1;
    sql_close(sql);
    return count;
}

static int64_t count_values(struct fixture *fixture)
{
    return count_rows(fixture, "SELECT count(*) FROM facets");
}

// add_with_values adds a crash with three values that no other one has.
static enum store_outcome add_with_values(struct fixture *fixture, unsigned number)
{
    struct entry entry = make_entry(fixture, number, "aaaaaaaa", 100 * 60);
    (void)snprintf(entry.hostname, sizeof(entry.hostname), "machine%u", number);
    entry.tag_count = 2;
    for (size_t i = 0; i < entry.tag_count; i++) {
        (void)snprintf(entry.tags[i].key, sizeof(entry.tags[i].key), "tag%zu", i);
        (void)snprintf(entry.tags[i].value, sizeof(entry.tags[i].value), "%u", number);
    }
    return add(fixture, &entry, "body");
}

static void values_of_many_removed_reports_are_swept_in_steps(void **state)
{
    enum { MANY = STORE_TRIM_STEP };
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    size_t removed = 0;
    const struct store_retention one = { .per_group = 1 };
    assert_int_equal(add_of_host(fixture, MANY, "last", 40), STORE_ADDED);
    int64_t of_last = count_values(fixture);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(add_with_values(fixture, i), STORE_ADDED);
    int64_t of_all = count_values(fixture);
    assert_int_equal(store_trim(fixture->store, &one, &removed, error), CH_OK);
    assert_int_equal(removed, MANY);
    assert_int_equal(count_values(fixture), of_all - STORE_FACETS_STEP);
    assert_int_equal(add_of_host(fixture, MANY + 1, "next", 39), STORE_ADDED);
    assert_int_equal(trim_all(fixture, one), 1);
    assert_int_equal(count_values(fixture), of_last);
}

static void machines_of_removed_reports_are_counted(void **state)
{
    struct fixture *fixture = *state;
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(
            add_of_host(fixture, i,
                        i % 2 == 0 ? "same" : (char[]){ 'a', (char)('0' + i), 0 },
                        400 - (int)i * 30),
            STORE_ADDED);
    assert_int_equal(find_group(fixture, "aaaaaaaa").group.machines, 4);
    assert_int_equal(trim_all(fixture, (struct store_retention){ .per_group = 1 }), 5);
    struct store_group group = find_group(fixture, "aaaaaaaa").group;
    assert_int_equal(group.kept, 1);
    assert_int_equal(group.machines, 4);
    struct seen seen = list_groups(fixture, where(STORE_KEY_SINCE, NULL));
    assert_int_equal(seen.group.filtered_machines, 1);
}

static void write_sql(const struct fixture *fixture, const char *script)
{
    char error[SQL_ERROR_SIZE];
    struct sql *sql = NULL;
    struct sql_options options = { .name = fixture->name };
    assert_int_equal(sql_open(&options, error, &sql), CH_OK);
    assert_int_equal(sql_script(sql, script), CH_OK);
    sql_close(sql);
}

// add_members adds machines (kind 4) or users (9) to the first group. In one
// transaction PostgreSQL keeps every version of the group's row: 40,000 take it
// minutes.
static void add_members(const struct fixture *fixture, int kind, int64_t count)
{
    char script[512];
    (void)snprintf(script, sizeof(script),
                   "WITH RECURSIVE n(i) AS (SELECT CAST(1 AS bigint) UNION ALL"
                   " SELECT i + 1 FROM n WHERE i < %lld)"
                   " INSERT INTO group_members(group_number, kind, member) SELECT"
                   " (SELECT min(number) FROM groups), %d,"
                   " i * 2654435761 %% 4294967291 FROM n",
                   (long long)count, kind);
    write_sql(fixture, script);
}

static void very_many_machines_and_users_are_counted_within_some_percent(void **state)
{
    const char *full = getenv("CRASHHOOK_FULL");
    const int users = 8201; // an odd number: half of it is not counted exactly
    const int64_t many = full != NULL && strcmp(full, "1") == 0 ? 40000 : 8400;
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    assert_int_equal(add_of_host(fixture, 1, "first", 1), STORE_ADDED);
    add_members(fixture, 4, many - 1);
    add_members(fixture, 9, users);
    assert_int_equal(find_group(fixture, "aaaaaaaa").group.machines, many);
    assert_int_equal(find_group(fixture, "aaaaaaaa").group.users, users);
    for (int i = 0; i < 4; i++)
        assert_int_equal(store_thin_members(fixture->store, error), CH_OK);
    int64_t machines = find_group(fixture, "aaaaaaaa").group.machines;
    assert_true(machines > many * 95 / 100 && machines < many * 105 / 100);
    int64_t counted = find_group(fixture, "aaaaaaaa").group.users;
    assert_true(counted != users && counted > users * 9 / 10 &&
                counted < users * 11 / 10);
    assert_true(count_rows(fixture, "SELECT max(n) FROM (SELECT count(*) AS n"
                                    " FROM group_members GROUP BY kind) k") <= 8192);
    // What is counted goes with a merge.
    struct entry entry = make_entry(fixture, 2, "bbbbbbbb", 1);
    assert_int_equal(add(fixture, &entry, "body"), STORE_ADDED);
    assert_int_equal(store_merge(fixture->store, "aaaaaaaa", "bbbbbbbb", NULL, error),
                     CH_OK);
    assert_int_equal(store_move_for(fixture->store, 60000, error), CH_OK);
    int64_t merged = find_group(fixture, "bbbbbbbb").group.machines;
    assert_true(merged >= machines - 16 && merged <= machines + 16);
    assert_int_equal(find_group(fixture, "bbbbbbbb").group.users, counted);
}

static void retention_of_nothing_removes_nothing(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(add_new(fixture, 1, "aaaaaaaa", 90), STORE_ADDED);
    assert_int_equal(trim_all(fixture, (struct store_retention){ 0 }), 0);
    assert_string_equal(list(fixture, (struct store_filter){ 0 }).ids, "1");
}

static void take_plan(void *context, const struct sql_row *row)
{
    text_appendf(context, "%s\n", sql_column_text(row, "QUERY PLAN"));
}

// ask_plan reports how PostgreSQL ran a statement over a list of groups.
static void ask_plan(struct sql *sql, enum store_statement statement, const char *list,
                     struct text *out)
{
    struct text CH_CLEANUP(text_deinit) asked = { 0 };
    const struct sql_value groups = sql_text(list);
    text_appendf(&asked, "EXPLAIN (ANALYZE, TIMING OFF) %s",
                 store_statements[statement].postgres != NULL
                     ? store_statements[statement].postgres
                     : store_statements[statement].sqlite);
    assert_true(text_ok(&asked));
    assert_int_equal(sql_query(sql, asked.bytes, &groups, 1, take_plan, out), CH_OK);
    assert_true(text_ok(out));
}

static void values_of_groups_that_stay_are_not_read_to_end_others(void **state)
{
    struct fixture *fixture = *state;
    struct sql_options options = { .name = fixture->name };
    struct text CH_CLEANUP(text_deinit) stays = { 0 };
    struct text CH_CLEANUP(text_deinit) ended = { 0 };
    char error[SQL_ERROR_SIZE];
    struct sql *sql = NULL;
    struct entry entry = make_entry(fixture, 1, "aaaaaaaa", 0);
    (void)add(fixture, &entry, "{}");
    assert_int_equal(sql_open(&options, error, &sql), CH_OK);
    if (sql->dialect != SQL_POSTGRES) {
        sql_close(sql);
        skip();
    }
    assert_int_equal(
        sql_script(sql, "INSERT INTO facets(group_number, kind, value, count,"
                        " last_seen) SELECT g, 5, n, 1, 1 FROM generate_series(1, 2) g,"
                        " generate_series(1, 5000) n; ANALYZE facets"),
        CH_OK);
    ask_plan(sql, STORE_REMOVE_EMPTY_FACETS, "{1}", &stays);
    ask_plan(sql, STORE_REMOVE_EMPTY_FACETS, "{2}", &ended);
    sql_close(sql);
    // Values are searched by the number of a group that ended, where there is one.
    assert_null(strstr(stays.bytes, "actual rows=5"));
    assert_non_null(strstr(stays.bytes, "(never executed)"));
    assert_non_null(strstr(ended.bytes, "actual rows=5000 "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(retention_by_age_removes_reports_and_groups_left_empty),
        STORE_TEST(retention_per_group_leaves_the_latest_crashes),
        STORE_TEST(retention_by_size_removes_the_oldest_until_the_rest_fits),
        STORE_TEST(retention_of_a_project_is_what_is_set_of_it),
        STORE_TEST(values_of_removed_reports_are_swept_once_a_day),
        STORE_TEST(values_of_many_removed_reports_are_swept_in_steps),
        STORE_TEST(machines_of_removed_reports_are_counted),
        STORE_TEST(very_many_machines_and_users_are_counted_within_some_percent),
        STORE_TEST(retention_of_nothing_removes_nothing),
        STORE_TEST(values_of_groups_that_stay_are_not_read_to_end_others),
    };
    return cmocka_run_group_tests_name("collector/store_trim", tests, NULL, NULL);
}
