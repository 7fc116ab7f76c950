// SPDX-License-Identifier: Apache-2.0
//
// Groups of more reports than a step moves. What happens between two steps is what may
// happen to a collector that is killed there.
#include <stdlib.h>

#include "collector/store/store_move.h"
#include "collector/store_fixture.h"

enum {
    MANY = STORE_MOVE_STEP + STORE_MOVE_STEP / 4,
    BATCH = STORE_MOVE_STEP / 4,
    OLD_FIRST = 50000
};

// add_many stores reports of a group, numbers from first on, in batches.
static bool add_many(struct fixture *fixture, const char *group, unsigned first,
                     unsigned count)
{
    bool old = first >= OLD_FIRST; // they came ten days ago, and crashed first

    static struct entry entries[BATCH];
    static struct store_upload uploads[BATCH];
    char error[STORE_ERROR_SIZE];
    for (unsigned done = 0; done < count; done += BATCH) {
        for (unsigned i = 0; i < BATCH; i++) {
            entries[i] = make_entry(fixture, first + done + i, group,
                                    (int)(i % 50) + (old ? 100 : 0));
            entries[i].received_ms -= old ? 10 * (int64_t)TIMESTAMP_DAY_MS : 0;
            (void)snprintf(entries[i].summary, sizeof(entries[i].summary), "at %u",
                           first + done + i);
            entries[i].tags[0] = (struct entry_tag){ .key = "zone", .value = "north" };
            entries[i].tag_count = 1;
            uploads[i] = (struct store_upload){ .entry = &entries[i],
                                                .body = "b",
                                                .body_size = 1 };
        }
        if (store_add(fixture->store, uploads, BATCH, error) != CH_OK) {
            print_error("%s\n", error);
            return false;
        }
    }
    return true;
}

// ask gives what a query counts, or -1.
static int64_t ask(struct fixture *fixture, const char *query)
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

#define WRONG_FACETS(elements)                                                         \
    "SELECT count(*) FROM (SELECT group_number, kind, value, count FROM facets WHERE"  \
    " count <> 0 EXCEPT SELECT group_number, kind, value, count(*) FROM "              \
    "(" PLAIN_FACETS                                                                   \
    " UNION ALL SELECT r.group_number, CAST(substr(j.value, 1, 2) AS bigint),"         \
    " substr(j.value, 4), r.time FROM reports r JOIN marks m ON m.report = r.number"   \
    " CROSS JOIN " elements ") c GROUP BY 1, 2, 3) wrong"

// wrong_figures counts the figures that are not what the reports say.
static int64_t wrong_figures(struct fixture *fixture)
{
    bool postgres = strncmp(fixture->name, "sqlite:", 7) != 0;
    int64_t facets =
        ask(fixture, postgres ? WRONG_FACETS("json_array_elements_text(CAST(m.list AS"
                                             " json)) AS j(value)")
                              : WRONG_FACETS("json_each(m.list) j"));
    int64_t machines =
        ask(fixture, "SELECT count(*) FROM groups g WHERE machines <> (SELECT count(*)"
                     " FROM facets WHERE group_number = g.number AND kind = 4)");
    int64_t days =
        ask(fixture, "SELECT count(*) FROM group_days d WHERE count <> (SELECT count(*)"
                     " FROM reports WHERE group_number = d.group_number AND"
                     " time / 86400000 = d.day)");
    int64_t groups =
        ask(fixture, "SELECT count(*) FROM groups g WHERE kept <> (SELECT count(*) FROM"
                     " reports WHERE group_number = g.number) OR count <> kept");
    int64_t lost = ask(fixture, "SELECT count(*) FROM reports WHERE group_number NOT IN"
                                " (SELECT number FROM groups)");
    return facets + machines + days + groups + lost;
}

static bool move(struct fixture *fixture, bool *more)
{
    char error[STORE_ERROR_SIZE];
    return store_move(fixture->store, more, error) == CH_OK;
}

// restart closes the store between two steps and opens it again.
static bool restart(struct fixture *fixture)
{
    store_close(fixture->store);
    fixture->store = NULL;
    return open_store(fixture);
}

static enum ch_status merge(struct fixture *fixture, const char *from, const char *into)
{
    char error[STORE_ERROR_SIZE];
    return store_merge(fixture->store, from, into, NULL, error);
}

static void a_large_group_is_merged_in_steps_that_survive_a_restart(void **state)
{
    struct fixture *fixture = *state;
    bool more = false;
    assert_true(add_many(fixture, "aaaaaaaa", 1, MANY));
    assert_int_equal(add_new(fixture, 9001, "bbbbbbbb", 0), STORE_ADDED);
    assert_int_equal(merge(fixture, "aaaaaaaa", "bbbbbbbb"), CH_OK);

    // Half way its address leads to the other, and lists show that alone.
    struct seen seen = find_group(fixture, "aaaaaaaa");
    assert_int_equal(seen.ids[0], 'b');
    assert_int_equal(seen.group.count, STORE_MOVE_STEP + 1);
    assert_string_equal(list_groups(fixture, (struct store_filter){ 0 }).ids, "b");
    assert_int_equal(wrong_figures(fixture), 0);
    assert_int_equal(add_new(fixture, 9002, "aaaaaaaa", 0), STORE_ADDED);

    assert_true(restart(fixture));
    assert_true(move(fixture, &more) && more);
    assert_true(move(fixture, &more) && !more);
    seen = find_group(fixture, "aaaaaaaa");
    assert_int_equal(seen.group.count, MANY + 2);
    assert_int_equal(seen.group.kept, MANY + 2);
    assert_int_equal(seen.group.release_counts[0], MANY + 2);
    assert_int_equal(wrong_figures(fixture), 0);
    assert_int_equal(ask(fixture, "SELECT count(*) FROM groups"), 1);
}

static void a_large_group_is_split_in_steps_that_survive_a_restart(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    bool more = true;
    assert_true(add_many(fixture, "aaaaaaaa", 1, MANY));
    assert_true(add_many(fixture, "bbbbbbbb", 9001, BATCH));
    assert_int_equal(merge(fixture, "aaaaaaaa", "bbbbbbbb"), CH_OK);
    while (more)
        assert_true(move(fixture, &more));

    assert_int_equal(store_split(fixture->store, "aaaaaaaa", NULL, error), CH_OK);
    assert_int_equal(wrong_figures(fixture), 0);
    struct seen seen = find_group(fixture, "aaaaaaaa");
    assert_int_equal(seen.ids[0], 'a');
    assert_true(seen.group.count < MANY);
    assert_int_equal(add_new(fixture, 9999, "aaaaaaaa", 0), STORE_ADDED);
    assert_true(restart(fixture));
    for (more = true; more;)
        assert_true(move(fixture, &more));
    assert_int_equal(find_group(fixture, "aaaaaaaa").group.count, MANY + 1);
    assert_int_equal(find_group(fixture, "bbbbbbbb").group.count, BATCH);
    assert_int_equal(wrong_figures(fixture), 0);
}

static void what_retention_removes_meanwhile_is_not_missed(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    struct store_retention few = { .per_group = 20 };
    size_t removed = 1;
    bool more = true;
    assert_true(add_many(fixture, "aaaaaaaa", 1, MANY));
    assert_int_equal(add_new(fixture, 9001, "bbbbbbbb", 0), STORE_ADDED);
    assert_int_equal(merge(fixture, "aaaaaaaa", "bbbbbbbb"), CH_OK);
    while (removed != 0)
        assert_int_equal(store_trim(fixture->store, &few, &removed, error), CH_OK);
    while (more)
        assert_true(move(fixture, &more));
    struct seen seen = find_group(fixture, "aaaaaaaa");
    assert_int_equal(seen.group.count, MANY + 1); // that came
    assert_int_equal(seen.group.kept, 40);        // 20 of each, before they were one
    assert_int_equal(ask(fixture, "SELECT count(*) FROM reports"), 40);
    assert_int_equal(ask(fixture, "SELECT count(*) FROM groups"), 1);
}

static void a_group_that_retention_empties_meanwhile_is_there_for_the_rest(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    struct store_retention week = { .age_ms = 7 * (int64_t)TIMESTAMP_DAY_MS };
    size_t removed = 1;
    bool more = true;
    assert_true(add_many(fixture, "bbbbbbbb", OLD_FIRST, BATCH));
    assert_true(add_many(fixture, "aaaaaaaa", 2 * OLD_FIRST, STORE_MOVE_STEP));
    assert_true(add_many(fixture, "aaaaaaaa", 1, BATCH));
    assert_int_equal(merge(fixture, "aaaaaaaa", "bbbbbbbb"), CH_OK);
    while (removed != 0)
        assert_int_equal(store_trim(fixture->store, &week, &removed, error), CH_OK);
    while (more)
        assert_true(move(fixture, &more));
    struct seen seen = find_group(fixture, "aaaaaaaa");
    assert_int_equal(seen.ids[0], 'b');
    assert_int_equal(seen.group.kept, BATCH);
    assert_int_equal(seen.group.count, STORE_MOVE_STEP + 2 * BATCH);
    assert_int_equal(ask(fixture, "SELECT count(*) FROM groups"), 1);
}

static void groups_that_retention_empties_meanwhile_are_gone_in_the_end(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    struct store_retention week = { .age_ms = 7 * (int64_t)TIMESTAMP_DAY_MS };
    size_t removed = 1;
    bool more = true;
    assert_true(add_many(fixture, "bbbbbbbb", OLD_FIRST, BATCH));
    assert_true(add_many(fixture, "aaaaaaaa", 2 * OLD_FIRST, MANY));
    assert_int_equal(merge(fixture, "aaaaaaaa", "bbbbbbbb"), CH_OK);
    while (removed != 0)
        assert_int_equal(store_trim(fixture->store, &week, &removed, error), CH_OK);
    while (more)
        assert_true(move(fixture, &more));
    assert_int_equal(ask(fixture, "SELECT count(*) FROM groups"), 0);
    assert_int_equal(ask(fixture, "SELECT count(*) FROM moves"), 0);
}

static enum ch_status begin_another(struct sql *sql, void *context)
{
    (void)context;
    return store_move_begin(sql, 1, 2, "");
}

static void one_move_is_under_way_at_a_time(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    struct store_job job = { .what = "move", .alone = true, .work = begin_another };
    assert_true(add_many(fixture, "aaaaaaaa", 1, MANY));
    assert_int_equal(add_new(fixture, 9001, "bbbbbbbb", 0), STORE_ADDED);
    assert_int_equal(merge(fixture, "aaaaaaaa", "bbbbbbbb"), CH_OK);
    assert_int_equal(store_transact(fixture->store, &job, error), CH_ERR_LIMIT);
    assert_int_equal(ask(fixture, "SELECT count(*) FROM moves"), 1);
}

static void another_group_waits_until_a_large_one_is_moved(void **state)
{
    struct fixture *fixture = *state;
    bool more = false;
    assert_true(add_many(fixture, "aaaaaaaa", 1, MANY));
    assert_int_equal(add_new(fixture, 9001, "bbbbbbbb", 0), STORE_ADDED);
    assert_int_equal(add_new(fixture, 9002, "cccccccc", 0), STORE_ADDED);
    assert_int_equal(merge(fixture, "aaaaaaaa", "bbbbbbbb"), CH_OK);
    enum ch_status merged;
    do // a slow machine needs longer for the steps than the store waits
        merged = merge(fixture, "bbbbbbbb", "cccccccc");
    while (merged == CH_ERR_LIMIT);
    assert_int_equal(merged, CH_OK);
    assert_true(move(fixture, &more));
    struct seen seen = find_group(fixture, "aaaaaaaa");
    assert_int_equal(seen.ids[0], 'c');
    while (more)
        assert_true(move(fixture, &more));
    assert_int_equal(find_group(fixture, "aaaaaaaa").group.count, MANY + 2);
    assert_int_equal(wrong_figures(fixture), 0);
}

static void counts_of_removed_reports_are_merged_in_steps(void **state)
{
    static const char sum[] = "SELECT sum(count) FROM facets";
    // Such a value would seem to be that of all reports, to searches.
    static const char above[] =
        "SELECT count(*) FROM facets f JOIN groups g ON g.number = f.group_number"
        " WHERE f.count > g.count AND g.fingerprint = 'bbbbbbbb'";
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    struct store_retention one = { .per_group = 1 };
    size_t removed = 1;
    // Each has a summary of its own. The values of the first are swept at once, those
    // of the others a day later.
    for (unsigned i = 0; i < 2; i++) {
        unsigned first = i == 0 ? 1 : BATCH + 1;
        unsigned count = i == 0 ? BATCH : STORE_FACETS_STEP + BATCH;
        assert_true(add_many(fixture, "aaaaaaaa", first, count));
        for (removed = 1; removed != 0;)
            assert_int_equal(store_trim(fixture->store, &one, &removed, error), CH_OK);
    }
    assert_int_equal(add_new(fixture, 9001, "bbbbbbbb", 0), STORE_ADDED);
    int64_t counted = ask(fixture, sum);
    assert_int_equal(merge(fixture, "aaaaaaaa", "bbbbbbbb"), CH_OK);
    assert_int_equal(ask(fixture, "SELECT count(*) FROM moves"), 1);
    for (bool more = true; more;) {
        assert_int_equal(ask(fixture, above), 0);
        assert_true(move(fixture, &more));
    }
    assert_int_equal(ask(fixture, "SELECT count(*) FROM groups"), 1);
    assert_int_equal(ask(fixture, "SELECT count(DISTINCT group_number) FROM facets"),
                     1);
    assert_int_equal(ask(fixture, sum), counted);
    assert_int_equal(find_group(fixture, "bbbbbbbb").group.count,
                     STORE_FACETS_STEP + 2 * BATCH + 1);
}

static void reports_are_stored_beside_a_step_of_a_move(void **state)
{
    struct fixture *fixture = *state;
    char error[SQL_ERROR_SIZE];
    bool more = false;
    struct sql *other = NULL;
    struct sql_options options = { .name = fixture->name };
    if (strncmp(fixture->name, "sqlite:", 7) == 0)
        return; // a file has one writer
    assert_true(add_many(fixture, "aaaaaaaa", 1, MANY));
    assert_int_equal(add_new(fixture, 9001, "bbbbbbbb", 0), STORE_ADDED);
    assert_int_equal(merge(fixture, "aaaaaaaa", "bbbbbbbb"), CH_OK);
    assert_int_equal(sql_open(&options, error, &other), CH_OK);
    // What another collector holds while it stores reports; nothing ends it meanwhile.
    enum ch_status held =
        sql_script(other, "SET idle_in_transaction_session_timeout = 0;"
                          " BEGIN; SELECT pg_advisory_xact_lock_shared(7157312092)");
    bool moved = move(fixture, &more);
    sql_close(other);
    assert_int_equal(held, CH_OK);
    assert_true(moved && more);
    assert_true(move(fixture, &more) && !more);
    assert_int_equal(wrong_figures(fixture), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_large_group_is_merged_in_steps_that_survive_a_restart),
        STORE_TEST(a_large_group_is_split_in_steps_that_survive_a_restart),
        STORE_TEST(what_retention_removes_meanwhile_is_not_missed),
        STORE_TEST(a_group_that_retention_empties_meanwhile_is_there_for_the_rest),
        STORE_TEST(groups_that_retention_empties_meanwhile_are_gone_in_the_end),
        STORE_TEST(one_move_is_under_way_at_a_time),
        STORE_TEST(another_group_waits_until_a_large_one_is_moved),
        STORE_TEST(counts_of_removed_reports_are_merged_in_steps),
        STORE_TEST(reports_are_stored_beside_a_step_of_a_move),
    };
    return cmocka_run_group_tests_name("collector/store_move", tests, NULL, NULL);
}
