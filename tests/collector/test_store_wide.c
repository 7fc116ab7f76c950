// SPDX-License-Identifier: Apache-2.0
//
// Lists of a store of which many groups have the same values: what is left out there.
#include "collector/store_fixture.h"

enum { GROUPS = 10500 };

// Group I has a report of release 1.0 in production on host aI, and one of release 2.0
// in staging on host bI; it was seen last I ms after 1,000,000, and on I machines. Each
// 100th group rises.
static const char filling[] =
    "CREATE TABLE filler(i bigint);"
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10500)"
    " INSERT INTO filler SELECT i FROM n;"
    "INSERT INTO groups(fingerprint, title, summary, signal, count, kept, first_seen,"
    " last_seen) SELECT '0000000000000000000000000' || (1000000 + i), 'crash in f' || "
    "i,"
    " 'Read', 11, 2 + i % 7, 2, 0, 1000000 + i FROM filler ORDER BY i;"
    "INSERT INTO reports(id, revision, group_number, time, received, signal,"
    " signal_name, title, summary, release, environment, executable, hostname,"
    " fingerprint) SELECT '00000000-0000-7000-8000-0000' || (10000000 + 10 * f.i + "
    "k.n),"
    " 1, g.number, 1000000 + f.i, 1, 11, 'SIGSEGV', g.title, 'Read', k.n || '.0',"
    " CASE k.n WHEN 1 THEN 'production' ELSE 'staging' END, '/bin/p',"
    " CASE k.n WHEN 1 THEN 'a' ELSE 'b' END || f.i, g.fingerprint FROM filler f"
    " JOIN groups g ON g.title = 'crash in f' || f.i"
    " CROSS JOIN (SELECT 1 AS n UNION ALL SELECT 2) k ORDER BY f.i, k.n;"
    "INSERT INTO marks(report, list) SELECT number, '[\"13\\nab100' || release || '\"]'"
    " FROM reports;"
    "INSERT INTO facets(group_number, kind, value, count, last_seen) SELECT"
    " r.group_number, k.n, CASE k.n WHEN 4 THEN r.hostname WHEN 5 THEN r.release"
    " WHEN 6 THEN r.environment ELSE 'ab100' || r.release END, 1, r.time FROM reports r"
    " CROSS JOIN (SELECT 4 AS n UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL"
    " SELECT 13) k ORDER BY r.number, k.n;"
    "INSERT INTO facets(group_number, kind, value, count, last_seen) SELECT number, 13,"
    " 'evenly', 1, last_seen FROM groups WHERE last_seen % 2 = 0 ORDER BY number;"
    "INSERT INTO facets(group_number, kind, value, count, last_seen) SELECT g.number,"
    " k.n, CASE k.n WHEN 1 THEN g.title ELSE 'a crash' END, 2, g.last_seen FROM"
    " groups g CROSS JOIN (SELECT 1 AS n UNION ALL SELECT 2) k ORDER BY g.number, k.n;"
    "UPDATE groups SET machines = last_seen - 1000000;"
    "DROP TABLE filler;";

static void fill_wide(struct fixture *fixture)
{
    const char *name = fixture->name;
    char error[SQL_ERROR_SIZE];
    char days[800];
    struct sql *sql = NULL;
    struct sql_options options = { .name = name };
    int64_t today = fixture->now_ms / TIMESTAMP_DAY_MS;
    assert_int_equal(sql_open(&options, error, &sql), CH_OK);
    assert_int_equal(sql_script(sql, filling), CH_OK);
    // Another group of the same program is steady: only others rise.
    (void)snprintf(days, sizeof(days),
                   "UPDATE groups SET last_seen = %lld WHERE machines %% 100 = 0;"
                   "INSERT INTO group_days(group_number, day, count) SELECT number,"
                   " %lld, 20 FROM groups WHERE machines %% 100 = 0;"
                   "INSERT INTO group_days(group_number, day, count) SELECT g.number,"
                   " %lld - 7 * k.n, 100000 FROM groups g CROSS JOIN"
                   " (SELECT 0 AS n UNION ALL SELECT 1) k WHERE g.machines = 7;"
                   "UPDATE groups SET last_seen = %lld WHERE machines = 7",
                   (long long)fixture->now_ms, (long long)today, (long long)today,
                   (long long)fixture->now_ms - 1);
    assert_int_equal(sql_script(sql, days), CH_OK);
    sql_close(sql);
}

// setup_filled makes one store for all tests, which only read it.
static int setup_filled(void **state)
{
    if (setup(state) != 0)
        return -1;
    fill_wide(*state);
    return 0;
}

struct page {
    size_t count;
    int64_t first; // the machines of its first group, and of its last
    int64_t last;
    int64_t filtered; // reports of the first group
    bool falling;     // each group has fewer machines than the one before
    struct store_found found;
    char next[STORE_CURSOR_SIZE];
};

static void see_on_page(void *context, const struct store_group *group)
{
    struct page *page = context;
    if (page->count == 0) {
        page->first = group->machines;
        page->filtered = group->filtered_count;
    }
    page->falling &= page->count == 0 || group->machines < page->last;
    page->last = group->machines;
    page->count++;
}

static struct page list_page(struct fixture *fixture, struct store_filter filter)
{
    struct page page = { .falling = true };
    filter.limit = 50;
    assert_int_equal(store_list_counted_groups(fixture->store, &filter, see_on_page,
                                               &page, page.next, &page.found),
                     CH_OK);
    return page;
}

static void groups_of_two_frequent_values_are_counted_up_to_a_bound(void **state)
{
    struct fixture *fixture = *state;
    struct store_filter filter =
        and_where(where(STORE_KEY_ENVIRONMENT, "staging"), STORE_KEY_RELEASE, "2.0");
    filter.sort = STORE_SORT_MACHINES;
    struct page page = list_page(fixture, filter);
    assert_int_equal(page.count, 50);
    assert_int_equal(page.first, GROUPS);
    assert_int_equal(page.last, GROUPS - 49);
    assert_true(page.falling);
    assert_int_equal(page.filtered, 1);
    assert_int_equal(page.found.count, STORE_FOUND_EXAMINED);
    assert_true(page.found.more);
    filter.cursor = page.next;
    struct page second = list_page(fixture, filter);
    assert_int_equal(second.first, GROUPS - 50);
    assert_int_equal(second.found.count, STORE_FOUND_EXAMINED);
    assert_true(second.found.more);
    // No report has both.
    filter =
        and_where(where(STORE_KEY_ENVIRONMENT, "staging"), STORE_KEY_RELEASE, "1.0");
    page = list_page(fixture, filter);
    assert_int_equal(page.count, 0);
    assert_int_equal(page.found.count, 0);
    assert_false(page.found.more);
}

static void groups_of_one_frequent_value_are_all_counted(void **state)
{
    struct fixture *fixture = *state;
    struct store_filter filter = where(STORE_KEY_RELEASE, "2.0");
    filter.sort = STORE_SORT_MACHINES;
    struct page page = list_page(fixture, filter);
    assert_int_equal(page.first, GROUPS);
    assert_true(page.falling);
    assert_int_equal(page.found.count, STORE_FOUND_EXAMINED);
    assert_true(page.found.more);
    filter.sort = STORE_SORT_LAST_SEEN;
    page = list_page(fixture, filter);
    assert_int_equal(page.found.count, GROUPS);
    assert_false(page.found.more);
    filter.sort = STORE_SORT_MACHINES;
    filter.found_most = 100;
    page = list_page(fixture, filter);
    assert_int_equal(page.first, GROUPS);
    assert_int_equal(page.found.count, 100);
    assert_true(page.found.more);
    // Those with most reports in all come first where counts sort.
    filter.sort = STORE_SORT_COUNT;
    page = list_page(fixture, filter);
    assert_int_equal(page.filtered, 1);
    assert_int_equal(page.first % 7, 6);
    assert_true(page.found.more);
}

static void a_part_of_frequent_values_is_found_group_by_group(void **state)
{
    struct fixture *fixture = *state;
    struct store_filter filter = where(STORE_KEY_BUILD, "AB100");
    filter.sort = STORE_SORT_MACHINES;
    struct page page = list_page(fixture, filter);
    assert_int_equal(page.first, GROUPS);
    assert_int_equal(page.filtered, 2);
    assert_true(page.falling);
    assert_true(page.found.more);
    filter.terms[0].key = STORE_KEY_WORD;
    page = list_page(fixture, filter);
    assert_int_equal(page.first, GROUPS);
    assert_int_equal(page.filtered, 2);
    assert_int_equal(page.found.count, STORE_FOUND_WORD);
    assert_true(page.found.more);
    assert_int_equal(list(fixture, filter).count, STORE_PAGE_MAX);
    // Every second group has this one.
    filter = where(STORE_KEY_BUILD, "evenl");
    filter.sort = STORE_SORT_MACHINES;
    page = list_page(fixture, filter);
    assert_int_equal(page.first, GROUPS);
    assert_int_equal(page.last, GROUPS - 98);
    assert_true(page.found.more);
    // A frequent part beside a rare value.
    filter = and_where(where(STORE_KEY_WORD, "ab100"), STORE_KEY_HOST, "a17");
    page = list_page(fixture, filter);
    assert_int_equal(page.count, 1);
    assert_int_equal(page.first, 17);
    assert_int_equal(page.filtered, 1);
    assert_false(page.found.more);
}

static void a_part_of_frequent_titles_is_found_group_by_group(void **state)
{
    struct fixture *fixture = *state;
    struct store_filter filter = where(STORE_KEY_WORD, "crash");
    filter.sort = STORE_SORT_MACHINES;
    struct page page = list_page(fixture, filter);
    assert_int_equal(page.first, GROUPS);
    assert_true(page.falling);
    assert_int_equal(page.filtered, 2);
    assert_int_equal(page.found.count, STORE_FOUND_WORD);
    assert_true(page.found.more);
    page = list_page(fixture, and_where(filter, STORE_KEY_HOST, "a17"));
    assert_int_equal(page.count, 1);
    assert_int_equal(page.first, 17);
    page = list_page(fixture, and_where(filter, STORE_KEY_RELEASE, "2.0"));
    assert_int_equal(page.first, GROUPS);
    assert_int_equal(page.filtered, 1);
}

static void a_word_that_no_index_finds_is_asked_of_each_group(void **state)
{
    struct fixture *fixture = *state;
    struct store_filter filter = where(STORE_KEY_WORD, "1.0"); // no three letters
    filter.sort = STORE_SORT_MACHINES;
    struct page page = list_page(fixture, filter);
    assert_int_equal(page.first, GROUPS);
    assert_true(page.falling);
    assert_int_equal(page.filtered, 1);
    assert_true(page.found.more);
    assert_int_equal(list_page(fixture, and_where(filter, STORE_KEY_HOST, "a17")).first,
                     17);
    page = list_page(fixture, and_where(filter, STORE_KEY_RELEASE, "2.0"));
    assert_int_equal(page.found.count, 0);
    filter.terms[0].negated = true;
    page = list_page(fixture, filter);
    assert_int_equal(page.first, GROUPS);
    assert_int_equal(page.filtered, 1);
    assert_int_equal(page.found.count, STORE_FOUND_EXAMINED);
}

static void what_all_reports_have_leaves_no_group_where_it_must_not_be(void **state)
{
    struct fixture *fixture = *state;
    static const enum store_key keys[] = { STORE_KEY_WORD, STORE_KEY_FRAME };
    for (size_t i = 0; i < 2; i++) {
        struct store_filter filter = where(keys[i], "crash");
        filter.terms[0].negated = true;
        struct page page = list_page(fixture, filter);
        assert_int_equal(page.found.count, i == 0 ? 0 : STORE_FOUND_EXAMINED);
    }
}

static void reports_of_few_groups_are_found_by_these(void **state)
{
    struct fixture *fixture = *state;
    struct store_filter filter = where(STORE_KEY_RISING, "");
    assert_int_equal(list(fixture, filter).count, STORE_PAGE_MAX);
    filter = and_where(filter, STORE_KEY_RELEASE, "2.0");
    assert_int_equal(list(fixture, filter).count, GROUPS / 100);
    filter = where(STORE_KEY_STATUS, "resolved");
    assert_int_equal(list(fixture, filter).count, 0);
}

static void reports_of_a_rare_host_are_found_beside_a_frequent_release(void **state)
{
    struct fixture *fixture = *state;
    struct store_filter filter =
        and_where(where(STORE_KEY_HOST, "b17"), STORE_KEY_RELEASE, "2.0");
    assert_int_equal(list(fixture, filter).count, 1);
    filter = and_where(where(STORE_KEY_HOST, "b17"), STORE_KEY_RELEASE, "1.0");
    assert_int_equal(list(fixture, filter).count, 0);
    // 1,111 hosts begin so; the reports of the groups are not sorted then.
    filter = where(STORE_KEY_WORD, "b10");
    assert_int_equal(list(fixture, filter).count, STORE_PAGE_MAX);
}

static void groups_that_rise_among_many_are_kept_for_a_while(void **state)
{
    struct fixture *fixture = *state;
    struct store_filter filter = where(STORE_KEY_RISING, "");
    for (int i = 0; i < 2; i++) {
        filter.sort = i == 0 ? STORE_SORT_LAST_SEEN : STORE_SORT_MACHINES;
        struct page page = list_page(fixture, filter);
        assert_int_equal(page.first, GROUPS);
        assert_int_equal(page.last, GROUPS - 4900);
        assert_int_equal(page.found.count, GROUPS / 100);
    }
    filter.terms[0].negated = true;
    struct page page = list_page(fixture, filter);
    assert_int_equal(page.found.count, GROUPS - GROUPS / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_of_two_frequent_values_are_counted_up_to_a_bound),
        cmocka_unit_test(groups_of_one_frequent_value_are_all_counted),
        cmocka_unit_test(a_part_of_frequent_values_is_found_group_by_group),
        cmocka_unit_test(a_part_of_frequent_titles_is_found_group_by_group),
        cmocka_unit_test(a_word_that_no_index_finds_is_asked_of_each_group),
        cmocka_unit_test(what_all_reports_have_leaves_no_group_where_it_must_not_be),
        cmocka_unit_test(reports_of_few_groups_are_found_by_these),
        cmocka_unit_test(reports_of_a_rare_host_are_found_beside_a_frequent_release),
        cmocka_unit_test(groups_that_rise_among_many_are_kept_for_a_while),
    };
    return cmocka_run_group_tests(tests, setup_filled, teardown);
}
