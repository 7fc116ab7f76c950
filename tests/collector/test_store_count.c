// SPDX-License-Identifier: Apache-2.0
//
// How many reports of a group a filter accepts, where the group has very many.
#include "collector/store_fixture.h"

// A group of 1,500 reports: that of 1,000,000 + I ms has release 1.0 up to 400,
// then 2.0, the environment staging at each fifth, and the function handle at each
// second.
static const char large_group[] =
    "INSERT INTO groups(fingerprint, title, summary, signal, count, kept, first_seen,"
    " last_seen) VALUES('aaaaaaaa', 'crash in f', 'Read', 11, 1500, 1500, 1000001,"
    " 1001500);"
    "CREATE TABLE filler(i bigint);"
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)"
    " INSERT INTO filler SELECT i FROM n;"
    "INSERT INTO reports(id, revision, group_number, time, received, signal,"
    " signal_name, title, summary, release, environment, executable, hostname,"
    " fingerprint) SELECT '00000000-0000-7000-8000-00000000' || (1000 + f.i), 1,"
    " g.number, 1000000 + f.i, 1, 11, 'SIGSEGV', g.title, 'Read',"
    " CASE WHEN f.i <= 400 THEN '1.0' ELSE '2.0' END,"
    " CASE WHEN f.i % 5 = 0 THEN 'staging' ELSE 'live' END, '/bin/p', 'h',"
    " g.fingerprint FROM filler f CROSS JOIN groups g ORDER BY f.i;"
    "INSERT INTO marks(report, list) SELECT number, CASE WHEN time % 2 = 0"
    " THEN '[\"11\\nhandle\"]' ELSE '[\"11\\nother\"]' END FROM reports;"
    "INSERT INTO facets(group_number, kind, value, count, last_seen)"
    " SELECT group_number, kind, value, count(*), max(time) FROM (SELECT"
    " r.group_number AS group_number, k.n AS kind, r.time AS time, CASE k.n"
    " WHEN 1 THEN r.title WHEN 5 THEN r.release WHEN 6 THEN r.environment"
    " ELSE substr(m.list, 7, length(m.list) - 8) END AS value FROM reports r"
    " JOIN marks m ON m.report = r.number CROSS JOIN (SELECT 1 AS n UNION ALL SELECT 5"
    " UNION ALL SELECT 6 UNION ALL SELECT 11) k) carried GROUP BY 1, 2, 3;"
    "DROP TABLE filler;";

static void run_script(struct fixture *fixture, const char *script)
{
    char error[SQL_ERROR_SIZE];
    struct sql *sql = NULL;
    struct sql_options options = { .name = fixture->name };
    assert_int_equal(sql_open(&options, error, &sql), CH_OK);
    assert_int_equal(sql_script(sql, script), CH_OK);
    sql_close(sql);
}

// expect_counted expects that a filter lists one group with so many reports, and says
// whether there may be more.
static void expect_counted(struct fixture *fixture, struct store_filter filter,
                           int64_t count, bool more)
{
    for (int i = 0; i < 2; i++) {
        filter.sort = i == 0 ? STORE_SORT_LAST_SEEN : STORE_SORT_COUNT;
        struct seen seen = list_groups(fixture, filter);
        assert_int_equal(seen.count, 1);
        assert_int_equal(seen.group.filtered_count, count);
        assert_int_equal(seen.group.filtered_more, more);
    }
}

static void of_a_small_store_all_reports_are_counted(void **state)
{
    struct fixture *fixture = *state;
    const struct store_filter handle = where(STORE_KEY_WORD, "handle");
    run_script(fixture, large_group);
    expect_counted(fixture, handle, 750, false);
    expect_counted(fixture, and_where(handle, STORE_KEY_ENVIRONMENT, "staging"), 150,
                   false);
    expect_counted(fixture, and_where(handle, STORE_KEY_RELEASE, "1.0"), 200, false);
}

static void of_a_large_group_the_newest_reports_are_counted(void **state)
{
    struct fixture *fixture = *state;
    const struct store_filter handle = where(STORE_KEY_WORD, "handle");
    run_script(fixture, large_group);
    fixture->store->many_reports = 1500;
    expect_counted(fixture, handle, 500, true);
    expect_counted(fixture, where(STORE_KEY_FRAME, "handle"), 750, false);
    expect_counted(fixture, and_where(handle, STORE_KEY_ENVIRONMENT, "staging"), 100,
                   true);
    // The group is listed for older reports, too.
    expect_counted(fixture, and_where(handle, STORE_KEY_RELEASE, "1.0"), 1, true);
    assert_int_equal(
        list_groups(fixture, and_where(handle, STORE_KEY_FRAME, "other")).count, 0);
    // Those that the search is about are the newest of a time.
    struct store_filter before = and_where(handle, STORE_KEY_UNTIL, "");
    before.terms[1].number = 1001001;
    expect_counted(fixture, before, 500, false);
    before.terms[1].number = 1001101;
    expect_counted(fixture, before, 500, true);
    struct store_filter since = and_where(handle, STORE_KEY_SINCE, "");
    since.terms[1].number = 1001401;
    expect_counted(fixture, since, 50, false);
    since.terms[1].number = 1000401;
    expect_counted(fixture, since, 500, true);
}

static void what_facets_count_is_counted_in_a_group_of_any_size(void **state)
{
    struct fixture *fixture = *state;
    const struct store_filter crash = where(STORE_KEY_WORD, "crash");
    run_script(fixture, large_group);
    fixture->store->many_reports = 1500;
    expect_counted(fixture, crash, 1500, false);
    expect_counted(fixture, where(STORE_KEY_RELEASE, "2.0"), 1100, false);
    expect_counted(fixture, and_where(crash, STORE_KEY_RELEASE, "1.0"), 400, false);
    expect_counted(fixture, and_where(crash, STORE_KEY_RELEASE, "2.0"), 1100, false);
    assert_int_equal(
        list_groups(fixture, and_where(crash, STORE_KEY_RELEASE, "3")).count, 0);
    struct store_filter without = where(STORE_KEY_RELEASE, "1.0");
    without.terms[0].negated = true;
    expect_counted(fixture, without, 1100, false);
    struct store_filter like = where(STORE_KEY_RELEASE, "2*");
    like.terms[0].wildcard = true;
    expect_counted(fixture, like, 1100, false);
    expect_counted(fixture, and_where(crash, STORE_KEY_FRAME, "handle"), 750, false);
    // Facets count what is gone as well.
    run_script(fixture, "UPDATE groups SET count = 1501;"
                        "UPDATE facets SET count = 1501 WHERE kind = 1");
    expect_counted(fixture, and_where(crash, STORE_KEY_RELEASE, "1.0"), 1, true);
    expect_counted(fixture, and_where(crash, STORE_KEY_RELEASE, "2.0"), 1000, true);
}

// The bound of what is counted is found once for a group: once for each report of it
// would take more than the time of a list.
static void of_a_very_large_group_a_list_since_a_time_takes_no_longer(void **state)
{
    struct fixture *fixture = *state;
    struct store_filter since = where(STORE_KEY_SINCE, "");
    since.terms[0].number = 2000000;
    run_script(fixture, large_group);
    run_script(fixture,
               "CREATE TABLE filler(i bigint);"
               "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
               " WHERE i < 60000) INSERT INTO filler SELECT i FROM n;"
               "INSERT INTO reports(id, revision, group_number, time, received, signal,"
               " signal_name, title, summary, release, environment, executable,"
               " hostname, fingerprint) SELECT '00000000-0000-7000-9000-0000' ||"
               " (10000000 + f.i), 1, g.number, 2000000 + f.i, 1, 11, 'SIGSEGV',"
               " g.title, 'Read', '2.0', 'live', '/bin/p', 'h' || (f.i % 7),"
               " g.fingerprint FROM filler f CROSS JOIN groups g ORDER BY f.i;"
               "UPDATE groups SET last_seen = 2060000, count = count + 60000,"
               " kept = kept + 60000; DROP TABLE filler;");
    fixture->store->many_reports = 1500;
    fixture->store->list_ms = 1500;
    struct seen seen = list_groups(fixture, since);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.group.filtered_machines, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(of_a_small_store_all_reports_are_counted),
        STORE_TEST(of_a_large_group_the_newest_reports_are_counted),
        STORE_TEST(what_facets_count_is_counted_in_a_group_of_any_size),
        STORE_TEST(of_a_very_large_group_a_list_since_a_time_takes_no_longer),
    };
    return cmocka_run_group_tests_name("collector/store_count", tests, NULL, NULL);
}
