// SPDX-License-Identifier: Apache-2.0
#include "collector/query/store_people.h"
#include "collector/query/store_values.h"
#include "collector/store_fixture.h"

static void store_gives_back_the_body_it_was_given(void **state)
{
    struct fixture *fixture = *state;
    struct seen seen = { 0 };
    struct entry entry = make_entry(fixture, 1, "aaaaaaaa", 0);
    assert_int_equal(add(fixture, &entry, "the body"), STORE_ADDED);
    assert_int_equal(store_find_report(fixture->store, entry.id, see_body, &seen),
                     CH_OK);
    assert_string_equal(seen.body, "the body");
    assert_int_equal(store_find_report(fixture->store, "none", see_body, &seen),
                     CH_ERR_NOT_FOUND);
}

static void store_keeps_a_report_that_comes_again_once(void **state)
{
    struct fixture *fixture = *state;
    struct store_totals totals = { 0 };
    assert_int_equal(add_new(fixture, 1, "aaaaaaaa", 0), STORE_ADDED);
    assert_int_equal(add_new(fixture, 1, "aaaaaaaa", 0), STORE_KEPT);
    assert_int_equal(store_count(fixture->store, "", &totals), CH_OK);
    assert_int_equal(totals.reports, 1);
    assert_int_equal(find_group(fixture, "aaaaaaaa").group.count, 1);
}

static void store_replaces_a_report_by_a_higher_revision_alone(void **state)
{
    struct fixture *fixture = *state;
    struct seen seen = { 0 };
    struct entry entry = make_entry(fixture, 1, "aaaaaaaa", 0);
    entry.revision = 1;
    assert_int_equal(add(fixture, &entry, "one"), STORE_ADDED);
    entry.revision = 0;
    assert_int_equal(add(fixture, &entry, "zero"), STORE_KEPT);
    entry.revision = 2;
    assert_int_equal(add(fixture, &entry, "two"), STORE_REPLACED);
    assert_int_equal(store_find_report(fixture->store, entry.id, see_body, &seen),
                     CH_OK);
    assert_string_equal(seen.body, "two");
    assert_int_equal(seen.count, 2);
}

static void store_moves_a_replaced_report_to_its_new_group(void **state)
{
    struct fixture *fixture = *state;
    struct entry entry = make_entry(fixture, 1, "aaaaaaaa", 90);
    entry.revision = 0;
    assert_int_equal(add(fixture, &entry, "raw"), STORE_ADDED);
    assert_int_equal(add_new(fixture, 2, "aaaaaaaa", 10), STORE_ADDED);
    entry = make_entry(fixture, 1, "bbbbbbbb", 90);
    assert_int_equal(add(fixture, &entry, "named"), STORE_REPLACED);

    struct seen old = find_group(fixture, "aaaaaaaa");
    assert_int_equal(old.group.count, 1);
    assert_int_equal(old.group.first_seen_ms, fixture->now_ms - 10 * 60000);
    assert_int_equal(old.group.release_counts[0], 1);
    assert_int_equal(find_group(fixture, "bbbbbbbb").group.count, 1);

    entry = make_entry(fixture, 2, "bbbbbbbb", 10);
    entry.revision = 2;
    assert_int_equal(add(fixture, &entry, "named"), STORE_REPLACED);
    assert_string_equal(find_group(fixture, "aaaaaaaa").ids, "failed");
    assert_int_equal(find_group(fixture, "bbbbbbbb").group.count, 2);
}

static void store_counts_a_group_by_release_and_day(void **state)
{
    struct fixture *fixture = *state;
    int64_t into_day_ms = fixture->now_ms % TIMESTAMP_DAY_MS;
    int yesterday = (int)(into_day_ms / 60000) + 60;
    struct entry entry = make_entry(fixture, 1, "aaaaaaaa", yesterday);
    assert_int_equal(add(fixture, &entry, "x"), STORE_ADDED);
    entry = make_entry(fixture, 2, "aaaaaaaa", 0);
    (void)snprintf(entry.release, sizeof(entry.release), "2.0");
    assert_int_equal(add(fixture, &entry, "x"), STORE_ADDED);

    struct seen seen = find_group(fixture, "aaaaaaaa");
    assert_int_equal(seen.group.count, 2);
    assert_int_equal(seen.group.release_count, 2);
    assert_string_equal(seen.release[0], "2.0");
    assert_string_equal(seen.release[1], "1.0");
    assert_int_equal(seen.group.trend[STORE_TREND_DAYS - 1], 1);
    assert_int_equal(seen.group.trend[STORE_TREND_DAYS - 2], 1);
    assert_int_equal(seen.group.first_seen_ms, fixture->now_ms - yesterday * 60000);
    assert_int_equal(seen.group.last_seen_ms, fixture->now_ms);
}

static void store_lists_the_latest_first_page_by_page(void **state)
{
    struct fixture *fixture = *state;
    for (unsigned i = 0; i < 7; i++)
        assert_int_equal(add_new(fixture, i, "aaaaaaaa", (int)i), STORE_ADDED);

    struct seen seen = { 0 };
    char next[STORE_CURSOR_SIZE] = "";
    char cursor[STORE_CURSOR_SIZE];
    int pages = 0;
    do {
        (void)snprintf(cursor, sizeof(cursor), "%s", next);
        struct store_filter filter = { .limit = 3,
                                       .cursor = cursor[0] != 0 ? cursor : NULL };
        assert_int_equal(
            store_list_reports(fixture->store, &filter, see_report, &seen, next),
            CH_OK);
        pages++;
    } while (next[0] != 0 && pages < 10);
    assert_string_equal(seen.ids, "0123456");
    assert_int_equal(pages, 3);
}

static void store_refuses_a_cursor_it_did_not_write(void **state)
{
    struct fixture *fixture = *state;
    struct store_filter filter = { .cursor = "1; DROP TABLE" };
    assert_string_equal(list(fixture, filter).ids, "failed");
    assert_string_equal(list_groups(fixture, filter).ids, "failed");
}

static void add_variety(struct fixture *fixture)
{
    struct entry entry = make_entry(fixture, 1, "aaaaaaaa", 100);
    entry.tags[0] = (struct entry_tag){ .key = "zone", .value = "north" };
    entry.tag_count = 1;
    assert_int_equal(add(fixture, &entry, "x"), STORE_ADDED);
    entry = make_entry(fixture, 2, "bbbbbbbb", 50);
    (void)snprintf(entry.release, sizeof(entry.release), "2.0");
    entry.signal = 6;
    (void)snprintf(entry.signal_name, sizeof(entry.signal_name), "SIGABRT");
    (void)snprintf(entry.title, sizeof(entry.title), "SIGABRT in Parse_100%%");
    assert_int_equal(add(fixture, &entry, "x"), STORE_ADDED);
    entry = make_entry(fixture, 3, "cccccccc", 10);
    (void)snprintf(entry.environment, sizeof(entry.environment), "production");
    assert_int_equal(add(fixture, &entry, "x"), STORE_ADDED);
}

static void store_narrows_lists_by_every_filter(void **state)
{
    struct fixture *fixture = *state;
    add_variety(fixture);
    const struct {
        struct store_filter filter;
        const char *reports;
        const char *groups;
    } cases[] = {
        { where(STORE_KEY_RELEASE, "2.0"), "2", "b" },
        { where(STORE_KEY_ENVIRONMENT, "production"), "3", "c" },
        { { .terms = { { .key = STORE_KEY_SIGNAL, .number = 6 } }, .term_count = 1 },
          "2",
          "b" },
        { where(STORE_KEY_SIGNAL_NAME, "SIGSEGV"), "31", "ca" },
        { { .terms = { { .key = STORE_KEY_SINCE,
                         .number = fixture->now_ms - 50 * 60000 } },
            .term_count = 1 },
          "32",
          "cb" },
        { { .terms = { { .key = STORE_KEY_UNTIL,
                         .number = fixture->now_ms - 50 * 60000 } },
            .term_count = 1 },
          "1",
          "a" },
        { where(STORE_KEY_WORD, "parse_1"), "2", "b" },
        { where(STORE_KEY_SHORT_WORD, "%"), "2", "b" },
        { { .terms = { { .key = STORE_KEY_TAG, .tag = "zone", .value = "north" } },
            .term_count = 1 },
          "1",
          "a" },
        { { .terms = { { .key = STORE_KEY_TAG, .tag = "zone", .value = "south" } },
            .term_count = 1 },
          "",
          "" },
        { { .group = "aaaaaaaa" }, "1", "a" },
        { { .terms = { { .key = STORE_KEY_RELEASE, .value = "2.0" } },
            .term_count = 1,
            .group = "aaaaaaaa" },
          "",
          "" },
        { { .terms = { { .key = STORE_KEY_RELEASE, .value = "2.0", .negated = true } },
            .term_count = 1 },
          "31",
          "ca" },
        { where(STORE_KEY_HOST, "host"), "321", "cba" },
        { where(STORE_KEY_PROGRAM, "program"), "321", "cba" },
        { where(STORE_KEY_PROGRAM, "/bin/program"), "321", "cba" },
        { where(STORE_KEY_PROGRAM, "rogram"), "", "" },
        { where(STORE_KEY_FRAME, "Post"), "321", "cba" },
        { where(STORE_KEY_FRAME, "po"), "321", "cba" },
        { where(STORE_KEY_FRAME, "journal"), "", "" },
        { where(STORE_KEY_FILE, "journal"), "321", "cba" },
        { where(STORE_KEY_BUILD, "6f1dd07b"), "321", "cba" },
        { where(STORE_KEY_MESSAGE, "no \"f"), "321", "cba" },
        { where(STORE_KEY_THREAD, "main"), "321", "cba" },
        { where(STORE_KEY_THREAD, "mai"), "", "" },
        { where(STORE_KEY_WORD, "WALLET::"), "321", "cba" },
        { and_where(where(STORE_KEY_WORD, "9ce6a"), STORE_KEY_RELEASE, "2.0"), "2",
          "b" },
        { and_where(where(STORE_KEY_FRAME, "post"), STORE_KEY_RELEASE, "2.0"), "2",
          "b" },
        { where(STORE_KEY_FIRST_RELEASE, "2.0"), "2", "b" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("filter %zu\n", i);
        assert_string_equal(list(fixture, cases[i].filter).ids, cases[i].reports);
        assert_string_equal(list_groups(fixture, cases[i].filter).ids, cases[i].groups);
    }
}

static void store_takes_a_batch_and_knows_repeats_inside_it(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    struct entry entries[3] = { make_entry(fixture, 1, "aaaaaaaa", 0),
                                make_entry(fixture, 2, "aaaaaaaa", 0),
                                make_entry(fixture, 1, "aaaaaaaa", 0) };
    struct store_upload uploads[3] = { 0 };
    for (size_t i = 0; i < 3; i++)
        uploads[i] =
            (struct store_upload){ .entry = &entries[i], .body = "b", .body_size = 1 };
    assert_int_equal(store_add(fixture->store, uploads, 3, error), CH_OK);
    assert_int_equal(uploads[0].outcome, STORE_ADDED);
    assert_int_equal(uploads[1].outcome, STORE_ADDED);
    assert_int_equal(uploads[2].outcome, STORE_KEPT);
}

static void store_keeps_everything_over_a_restart(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(add_new(fixture, 1, "aaaaaaaa", 0), STORE_ADDED);
    store_close(fixture->store);
    fixture->store = NULL;
    assert_true(open_store(fixture));
    assert_string_equal(list(fixture, (struct store_filter){ 0 }).ids, "1");
    assert_int_equal(add_new(fixture, 1, "aaaaaaaa", 0), STORE_KEPT);
}

static void append_audited(void *context, const struct store_audit_entry *entry)
{
    text_append_string(context, entry->what);
}

static void store_forgets_what_was_done_400_days_ago(void **state)
{
    struct fixture *fixture = *state;
    struct text CH_CLEANUP(text_deinit) seen = { 0 };
    char script[300];
    char error[STORE_ERROR_SIZE];
    const struct store_audit_entry entry = {
        .who = "kim", .project = "", .what = "c", .detail = ""
    };
    (void)snprintf(script, sizeof(script),
                   "INSERT INTO audit(time, who, project, what, detail) VALUES"
                   "(%lld, 'kim', '', 'a', ''), (%lld, 'kim', '', 'b', '')",
                   (long long)(fixture->now_ms - (int64_t)401 * TIMESTAMP_DAY_MS),
                   (long long)(fixture->now_ms - (int64_t)399 * TIMESTAMP_DAY_MS));
    assert_int_equal(sql_script(fixture->store->writer, script), CH_OK);
    assert_int_equal(store_audit_add(fixture->store, &entry, error), CH_OK);
    assert_int_equal(store_list_audit(fixture->store, "", "", append_audited, &seen),
                     CH_OK);
    assert_string_equal(seen.bytes, "cb");
}

// newest_audited is how many lines were listed, and the first of them.
struct newest_audited {
    size_t count;
    char detail[8];
};

static void see_audited(void *context, const struct store_audit_entry *entry)
{
    struct newest_audited *seen = context;
    if (seen->count++ == 0)
        (void)snprintf(seen->detail, sizeof(seen->detail), "%s", entry->detail);
}

static void the_newest_200_lines_of_the_audit_are_listed(void **state)
{
    struct fixture *fixture = *state;
    struct newest_audited seen = { 0 };
    struct newest_audited found = { 0 };
    static const char script[] =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250)"
        " INSERT INTO audit(time, who, project, what, detail)"
        " SELECT i, 'kim', '', 'assign', CAST(i AS text) FROM n ORDER BY n.i";
    assert_int_equal(sql_script(fixture->store->writer, script), CH_OK);
    assert_int_equal(store_list_audit(fixture->store, "", "", see_audited, &seen),
                     CH_OK);
    assert_int_equal(seen.count, STORE_AUDIT_MOST);
    assert_string_equal(seen.detail, "250");
    // A search finds what is beyond them.
    assert_int_equal(store_list_audit(fixture->store, "", "17", see_audited, &found),
                     CH_OK);
    assert_string_equal(found.detail, "217");
    assert_int_equal(found.count, 13); // 17, 117, 217 and 170 to 179
}

static void store_says_why_it_cannot_be_opened(void **state)
{
    (void)state;
    struct store *store = NULL;
    char error[STORE_ERROR_SIZE] = "";
    assert_int_equal(store_open("sqlite:/nowhere/at/all.db", error, &store), CH_ERR_IO);
    assert_non_null(strstr(error, "/nowhere/at/all.db"));
    assert_int_equal(
        store_open("postgresql://me:secret@/x?host=/nowhere", error, &store),
        CH_ERR_IO);
    assert_null(strstr(error, "secret"));
    assert_int_equal(store_open("mysql://x", error, &store), CH_ERR_UNSUPPORTED);
    assert_non_null(strstr(error, "mysql://x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(store_gives_back_the_body_it_was_given),
        STORE_TEST(store_keeps_a_report_that_comes_again_once),
        STORE_TEST(store_replaces_a_report_by_a_higher_revision_alone),
        STORE_TEST(store_moves_a_replaced_report_to_its_new_group),
        STORE_TEST(store_counts_a_group_by_release_and_day),
        STORE_TEST(store_lists_the_latest_first_page_by_page),
        STORE_TEST(store_refuses_a_cursor_it_did_not_write),
        STORE_TEST(store_narrows_lists_by_every_filter),
        STORE_TEST(store_takes_a_batch_and_knows_repeats_inside_it),
        STORE_TEST(store_keeps_everything_over_a_restart),
        STORE_TEST(store_forgets_what_was_done_400_days_ago),
        STORE_TEST(the_newest_200_lines_of_the_audit_are_listed),
        cmocka_unit_test(store_says_why_it_cannot_be_opened),
    };
    return cmocka_run_group_tests_name("collector/store", tests, NULL, NULL);
}
