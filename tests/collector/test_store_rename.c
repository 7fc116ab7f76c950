// SPDX-License-Identifier: Apache-2.0
//
// Reports that got names move to the groups of their new keys, with all that people
// decided; a store of the version before is brought over by the same steps.
#include "collector/store/store_internal.h"
#include "collector/store/store_symbolization.h"
#include "collector/store_fixture.h"

enum { CLAIMED_MAX = 32 };

// The reports that were claimed.
struct claimed {
    struct store_symbolization all[CLAIMED_MAX];
    size_t count;
};

static void see_claimed(void *context, const struct store_symbolization *symbolization)
{
    struct claimed *claimed = context;
    if (claimed->count < CLAIMED_MAX)
        claimed->all[claimed->count++] = *symbolization;
}

static struct claimed claim(struct fixture *fixture, size_t count, int64_t lease_ms)
{
    struct claimed claimed = { 0 };
    char error[STORE_ERROR_SIZE];
    size_t found = 0;
    const struct store_claiming claiming = {
        .count = count, .lease_ms = lease_ms, .visit = see_claimed, .context = &claimed
    };
    assert_int_equal(store_claim(fixture->store, &claiming, &found, error), CH_OK);
    assert_int_equal(found, claimed.count);
    return claimed;
}

// A named_as says which key report number gets.
struct named_as {
    unsigned number;
    const char *key;
    const char *title;
};

// make_named is the entry of a report of the old store with its new key.
static struct entry make_named(struct fixture *fixture, const struct named_as *as)
{
    struct entry entry = make_entry(fixture, as->number, as->key, 0);
    entry.time_ms = as->number * 1000;
    entry.received_ms = as->number * 1000 + 1;
    (void)snprintf(entry.title, sizeof(entry.title), "%s", as->title);
    (void)snprintf(entry.stack, sizeof(entry.stack), "%s\n", as->title);
    return entry;
}

// rename_until_done does what the symbolization jobs do, with the keys of the list; the
// numbers of reports are their row numbers.
static void rename_until_done(struct fixture *fixture, const struct named_as *list,
                              size_t batch)
{
    char error[STORE_ERROR_SIZE];
    for (int round = 0; round < 100; round++) {
        struct claimed claimed = claim(fixture, batch, 0);
        struct store_named named[CLAIMED_MAX];
        struct entry *entries = calloc(CLAIMED_MAX, sizeof(*entries));
        if (claimed.count == 0) {
            free(entries);
            struct store_backlog backlog;
            assert_int_equal(store_backlog_of(fixture->store, &backlog), CH_OK);
            if (backlog.waiting == 0)
                return;
            usleep(100000); // a report waits for those that it was merged with
            continue;
        }
        for (size_t i = 0; i < claimed.count; i++) {
            const struct named_as *as = list;
            while (as->number != claimed.all[i].report)
                as++;
            entries[i] = make_named(fixture, as);
            named[i] = (struct store_named){ .report = claimed.all[i].report,
                                             .turn = claimed.all[i].turn,
                                             .entry = &entries[i] };
        }
        enum ch_status status =
            store_rename(fixture->store, named, claimed.count, error);
        free(entries);
        assert_int_equal(status, CH_OK);
    }
    fail();
}

static void see_id(void *context, const struct store_group *group)
{
    (void)snprintf(context, ENTRY_GROUP_SIZE, "%s", group->id);
}

// expect_group checks which group a key leads to.
static void expect_group(struct fixture *fixture, const char *key, const char *group)
{
    char id[ENTRY_GROUP_SIZE] = "";
    assert_int_equal(store_find_group(fixture->store, key, see_id, id), CH_OK);
    assert_string_equal(id, group);
}

// wanted is a line of a history that is looked for.
struct wanted {
    const char *detail;
    bool found;
};

static void see_past(void *context, const struct store_past *past)
{
    struct wanted *wanted = context;
    wanted->found = wanted->found || strcmp(past->detail, wanted->detail) == 0;
}

static bool history_has(struct fixture *fixture, const char *group, const char *detail)
{
    struct wanted wanted = { .detail = detail };
    assert_int_equal(store_list_history(fixture->store, group, see_past, &wanted),
                     CH_OK);
    return wanted.found;
}

// Groups aaaaaaaa (reports 1 and 2), bbbbbbbb (3), cccccccc (4) and dddddddd (5), whose
// keys are of version 1: the reports are to be keyed anew.
static const char old_rows[] =
    "INSERT INTO groups(fingerprint, title, summary, signal, count, first_seen,"
    " last_seen, kept) VALUES('aaaaaaaa', 'old a', 's', 11, 2, 100, 2000, 2),"
    "('bbbbbbbb', 'old b', 's', 11, 1, 3000, 3000, 1),"
    "('cccccccc', 'old c', 's', 11, 1, 4000, 4000, 1),"
    "('dddddddd', 'old d', 's', 11, 1, 5000, 5000, 1);"
    "INSERT INTO reports(id, revision, group_number, time, received, signal,"
    " signal_name, title, summary, release, environment, executable, hostname,"
    " fingerprint) SELECT '00000000-0000-7000-8000-00000000000' || column1, 1, column2,"
    " column1 * 1000, column1 * 1000 + 1, 11, 'SIGSEGV', 'old', 's', '1.0', 'test',"
    " '/bin/program', 'host', (SELECT fingerprint FROM groups WHERE number = column2)"
    " FROM (VALUES(1, 1), (2, 1), (3, 2), (4, 3), (5, 4)) v ORDER BY column1;"
    "INSERT INTO group_days VALUES(1, 0, 2), (2, 0, 1), (3, 0, 1), (4, 0, 1);"
    "INSERT INTO facets(group_number, kind, value, count, last_seen)"
    " SELECT group_number, kind, value, count(*), max(time) FROM (" PLAIN_FACETS ") f"
    " GROUP BY group_number, kind, value;"
    "INSERT INTO jobs(report, rank, queued, until, tries, turn)"
    " SELECT number, 1, 0, 0, 0, 0 FROM reports;";
static const char sqlite_bodies[] = "INSERT INTO bodies(report, encoding, bytes) "
                                    "SELECT number, 0, 'body' FROM reports;";
static const char postgres_bodies[] =
    "CREATE TABLE bodies_0 PARTITION OF bodies FOR VALUES FROM (0) TO (604800000);"
    "INSERT INTO bodies(report, received, encoding, bytes)"
    " SELECT number, received, 0, 'body' FROM reports;";

static int setup_old(void **state)
{
    if (setup(state) != 0)
        return -1;
    struct fixture *fixture = *state;
    struct sql *sql = fixture->store->writer;
    bool made = sql_script(sql, old_rows) == CH_OK &&
                sql_script(sql, sql->dialect == SQL_POSTGRES ? postgres_bodies
                                                             : sqlite_bodies) == CH_OK;
    if (!made)
        print_error("%s\n", sql->error);
    return made ? 0 : -1;
}

static const struct named_as several[] = {
    { 1, "a1a1a1a1", "in one" },   { 2, "a2a2a2a2", "in two" },
    { 3, "b1b1b1b1", "in three" }, { 4, "e1e1e1e1", "in four" },
    { 5, "e1e1e1e1", "in four" },
};

static void decide(struct fixture *fixture, const char *group, const char *status,
                   const char *note)
{
    char error[STORE_ERROR_SIZE];
    const struct store_decision decision = { .status = status, .note = note };
    assert_int_equal(store_decide(fixture->store, group, &decision, error), CH_OK);
}

static void an_old_group_that_becomes_several_gives_each_its_decision(void **state)
{
    struct fixture *fixture = *state;
    decide(fixture, "aaaaaaaa", "ignored", "known, see 4711");
    rename_until_done(fixture, several, 2);
    static const char *const keys[] = { "a1a1a1a1", "a2a2a2a2" };
    for (size_t i = 0; i < 2; i++) {
        struct seen seen = find_group(fixture, keys[i]);
        assert_int_equal(seen.group.count, 1);
        assert_string_equal(seen.note, "known, see 4711");
        assert_string_equal(seen.status, "ignored");
    }
    assert_int_equal(find_group(fixture, "e1e1e1e1").group.count, 2);
}

static void the_old_key_leads_to_the_group_of_the_newest_report(void **state)
{
    struct fixture *fixture = *state;
    rename_until_done(fixture, several, 1);
    expect_group(fixture, "aaaaaaaa", "a2a2a2a2");
    expect_group(fixture, "bbbbbbbb", "b1b1b1b1");
    expect_group(fixture, "cccccccc", "e1e1e1e1");
}

static void of_groups_that_become_one_the_latest_decision_holds(void **state)
{
    struct fixture *fixture = *state;
    decide(fixture, "dddddddd", "ignored", "first");
    usleep(2000);
    decide(fixture, "cccccccc", "resolved", "later");
    rename_until_done(fixture, several, 8);
    struct seen seen = find_group(fixture, "e1e1e1e1");
    assert_string_equal(seen.status, "resolved");
    assert_string_equal(seen.note, "later");
    assert_true(history_has(fixture, "e1e1e1e1", "ignored: first"));
    assert_true(history_has(fixture, "e1e1e1e1", "old c"));
}

static void a_merge_of_before_holds_under_both_keys(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    assert_int_equal(store_merge(fixture->store, "bbbbbbbb", "aaaaaaaa", NULL, error),
                     CH_OK);
    rename_until_done(fixture, several, 1);
    expect_group(fixture, "bbbbbbbb", "a2a2a2a2");
    expect_group(fixture, "b1b1b1b1", "a2a2a2a2");
    assert_int_equal(find_group(fixture, "a2a2a2a2").group.count, 2);
    assert_int_equal(add_new(fixture, 77, "b1b1b1b1", 0), STORE_ADDED);
    assert_int_equal(find_group(fixture, "a2a2a2a2").group.count, 3);
    assert_int_equal(store_split(fixture->store, "b1b1b1b1", NULL, error), CH_OK);
    expect_group(fixture, "b1b1b1b1", "b1b1b1b1");
    assert_int_equal(find_group(fixture, "b1b1b1b1").group.count, 2);
    assert_int_equal(find_group(fixture, "a2a2a2a2").group.count, 1);
}

static void counts_of_removed_reports_follow_the_newest(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    size_t removed = 0;
    const struct store_retention retention = { .per_group = 1 };
    assert_int_equal(store_trim(fixture->store, &retention, &removed, error), CH_OK);
    assert_int_equal(removed, 1);
    rename_until_done(fixture, several, 3);
    struct seen seen = find_group(fixture, "a2a2a2a2");
    assert_int_equal(seen.group.count, 2);
    assert_int_equal(seen.group.kept, 1);
    assert_int_equal(seen.group.first_seen_ms, 100);
}

static void a_report_that_comes_first_takes_the_old_decision_along(void **state)
{
    struct fixture *fixture = *state;
    decide(fixture, "aaaaaaaa", "ignored", "known");
    struct entry entry = make_entry(fixture, 78, "a2a2a2a2", 0);
    (void)snprintf(entry.old_group, sizeof(entry.old_group), "aaaaaaaa");
    assert_int_equal(add(fixture, &entry, "body"), STORE_ADDED);
    assert_string_equal(find_group(fixture, "a2a2a2a2").status, "ignored");
    rename_until_done(fixture, several, 3);
    assert_int_equal(find_group(fixture, "a2a2a2a2").group.count, 2);
    assert_string_equal(find_group(fixture, "a2a2a2a2").note, "known");
}

static void a_resolved_group_is_back_when_a_newer_release_joins_it(void **state)
{
    struct fixture *fixture = *state;
    struct entry entry = make_entry(fixture, 79, "e1e1e1e1", 0);
    (void)snprintf(entry.release, sizeof(entry.release), "2.0");
    assert_int_equal(add(fixture, &entry, "body"), STORE_ADDED);
    decide(fixture, "cccccccc", "resolved", "");
    rename_until_done(fixture, several, 3);
    assert_string_equal(find_group(fixture, "e1e1e1e1").status, "regressed");
}

static void a_claim_is_given_to_one_and_ends_with_its_lease(void **state)
{
    struct fixture *fixture = *state;
    struct claimed first = claim(fixture, 3, 2000); // longer than the next claim takes
    struct claimed second = claim(fixture, 8, 60000);
    assert_int_equal(first.count, 3);
    assert_int_equal(second.count, 2);
    for (size_t i = 0; i < second.count; i++)
        for (size_t k = 0; k < first.count; k++)
            assert_int_not_equal(second.all[i].report, first.all[k].report);
    struct claimed again = { 0 };
    for (int tries = 0; again.count == 0 && tries < 600; tries++) {
        usleep(100000);
        again = claim(fixture, 8, 60000);
    }
    assert_int_equal(again.count, 3);
    assert_int_equal(again.all[0].tries, 2);
}

// symbols_came reports that the debug file of a build of no project came.
static enum ch_status symbols_came(struct fixture *fixture, const char *build)
{
    char error[STORE_ERROR_SIZE];
    const struct store_build came = { .id = build, .project = "", .sender = "" };
    return store_symbols_came(fixture->store, &came, error);
}

// nameless is an entry that lacks the names of a build.
static struct entry nameless(const struct fixture *fixture, unsigned number,
                             const char *build)
{
    struct entry entry = make_entry(fixture, number, "abababab", 0);
    (void)snprintf(entry.nameless[0], ENTRY_BUILD_SIZE, "%s", build);
    entry.nameless_count = 1;
    return entry;
}

static void what_is_queued_again_meanwhile_is_not_done(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    struct entry entry = nameless(fixture, 80, "beef01");
    rename_until_done(fixture, several, 8);
    assert_int_equal(add(fixture, &entry, "body"), STORE_ADDED);
    assert_int_equal(claim(fixture, 8, 0).count, 0);
    assert_int_equal(symbols_came(fixture, "beef01"), CH_OK);
    struct claimed claimed = claim(fixture, 8, 60000);
    assert_int_equal(claimed.count, 1);
    assert_int_equal(symbols_came(fixture, "beef01"), CH_OK);
    const struct store_named named = { .report = claimed.all[0].report,
                                       .turn = claimed.all[0].turn };
    assert_int_equal(store_rename(fixture->store, &named, 1, error), CH_OK);
    assert_int_equal(claim(fixture, 8, 60000).count, 1);
}

static void all_reports_of_a_build_are_queued_though_in_steps(void **state)
{
    enum { COUNT = STORE_BUILD_STEP + 5 };
    struct fixture *fixture = *state;
    struct store_backlog backlog;
    char error[STORE_ERROR_SIZE];
    struct entry *entries = calloc(COUNT, sizeof(*entries));
    struct store_upload *uploads = calloc(COUNT, sizeof(*uploads));
    if (entries == NULL || uploads == NULL)
        abort();
    for (unsigned i = 0; i < COUNT; i++) {
        entries[i] = nameless(fixture, 1000 + i, "beef07");
        uploads[i] = (struct store_upload){ .entry = &entries[i],
                                            .body = "body",
                                            .body_size = 4 };
    }
    enum ch_status status = store_add(fixture->store, uploads, COUNT, error);
    free(entries);
    free(uploads);
    assert_int_equal(status, CH_OK);
    assert_int_equal(store_backlog_of(fixture->store, &backlog), CH_OK);
    int64_t before = backlog.waiting;
    assert_int_equal(symbols_came(fixture, "beef07"), CH_OK);
    assert_int_equal(store_backlog_of(fixture->store, &backlog), CH_OK);
    assert_int_equal(backlog.waiting - before, COUNT);
}

static void a_report_of_a_build_whose_debug_file_is_known_is_queued(void **state)
{
    struct fixture *fixture = *state;
    struct entry entry = nameless(fixture, 81, "beef02");
    rename_until_done(fixture, several, 8);
    assert_int_equal(symbols_came(fixture, "beef02"), CH_OK);
    assert_int_equal(add(fixture, &entry, "body"), STORE_ADDED);
    assert_int_equal(claim(fixture, 8, 60000).count, 1);
}

static void see_place(void *context, const struct store_place *place)
{
    struct seen *seen = context;
    seen->count++;
    (void)snprintf(seen->body, sizeof(seen->body), "%s %s %s", place->build,
                   place->place, place->frames);
}

static void places_are_kept_unless_another_debug_file_came_since(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    struct seen seen = { 0 };
    int64_t moment;
    struct entry entry = nameless(fixture, 82, "beef03");
    const struct store_place place = { "beef03", "0x10 pc", "[1]" };
    const struct store_reports_of reports = { "", (const int64_t[]){ 5, 6 }, 2 };
    const struct store_place_of of = { "", "beef03" };
    assert_int_equal(add(fixture, &entry, "body"), STORE_ADDED);
    assert_int_equal(symbols_came(fixture, "beef03"), CH_OK);
    assert_int_equal(
        store_list_known_places(fixture->store, &reports, see_place, &seen, &moment),
        CH_OK);
    assert_int_equal(seen.count, 0);
    assert_int_equal(store_add_places(fixture->store, &place, 1, moment, error), CH_OK);
    assert_int_equal(
        store_list_known_places(fixture->store, &reports, see_place, &seen, &moment),
        CH_OK);
    assert_string_equal(seen.body, "beef03 0x10 pc [1]");
    assert_int_equal(symbols_came(fixture, "beef03"), CH_OK);
    assert_int_equal(store_add_places(fixture->store, &place, 1, moment, error), CH_OK);
    seen = (struct seen){ 0 };
    assert_int_equal(
        store_list_places(fixture->store, &of, "[\"0x10 pc\"]", see_place, &seen),
        CH_OK);
    assert_int_equal(seen.count, 0); // they are of the file that was replaced
}

static void a_project_gets_the_places_of_its_own_file_and_of_everybodys(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    struct seen seen = { 0 };
    const struct store_place places[] = { { "beef08", "0x1 pc", "[0]" },
                                          { "shop/beef08", "0x1 pc", "[1]" },
                                          { "bank/beef08", "0x1 pc", "[2]" } };
    const struct store_place_of of = { "shop", "beef08" };
    bool listed =
        store_add_places(fixture->store, places, 3, INT64_MAX, error) == CH_OK &&
        store_list_places(fixture->store, &of, "[\"0x1 pc\"]", see_place, &seen) ==
            CH_OK;
    assert_true(listed && seen.count == 2 && strstr(seen.body, "bank") == NULL);
}

static void a_debug_file_of_a_project_queues_its_reports_alone(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    const struct store_build came = { "shop/beef09", "shop", "" };
    rename_until_done(fixture, several, 8);
    for (unsigned number = 90; number < 94; number++) {
        struct entry entry = nameless(fixture, number, "beef09");
        entry_set_project(&entry, number % 2 == 0 ? "shop" : "bank");
        assert_int_equal(add(fixture, &entry, "body"), STORE_ADDED);
        if (number == 91)
            assert_int_equal(store_symbols_came(fixture->store, &came, error), CH_OK);
        assert_int_equal(claim(fixture, 8, 60000).count, number == 91 || number == 92);
    }
}

static void the_places_of_a_build_go_with_its_last_report(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    struct seen seen = { 0 };
    size_t removed = 0;
    const struct store_place places[] = { { "beef04", "0x10 ra", "[]" },
                                          { "shop/beef04", "0x10 ra", "[]" },
                                          { "beef05", "0x10 ra", "[]" } };
    const struct store_retention retention = { .per_group = 1 };
    for (unsigned number = 83; number < 86; number++) {
        const char *group = number < 85 ? "abababab" : "cdcdcdcd";
        struct entry entry = make_entry(fixture, number, group, 90 - (int)number);
        entry.nameless_count = 1;
        entry_copy(entry.nameless[0], ENTRY_BUILD_SIZE,
                   number == 83 ? "beef04" : "beef05");
        assert_int_equal(add(fixture, &entry, "body"), STORE_ADDED);
    }
    const struct store_build came = { "shop/beef04", "shop", "" };
    const struct store_place_of of[] = { { "shop", "beef04" }, { "", "beef05" } };
    assert_int_equal(store_build_own(fixture->store, &came, error), CH_OK);
    assert_int_equal(store_add_places(fixture->store, places, 3, 1, error), CH_OK);
    do
        assert_int_equal(store_trim(fixture->store, &retention, &removed, error),
                         CH_OK);
    while (removed != 0);
    for (size_t i = 0; i < 2; i++)
        assert_true(store_list_places(fixture->store, &of[i], "[\"0x10 ra\"]",
                                      see_place, &seen) == CH_OK &&
                    seen.count == i);
}

static void a_report_that_is_looked_at_is_queued_unless_it_was_given_up(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    static const char id[] = "00000000-0000-7000-8000-000000000056";
    enum store_names names = STORE_NAMES_DONE;
    struct entry entry = nameless(fixture, 0x56, "beef06");
    rename_until_done(fixture, several, 8);
    assert_int_equal(add(fixture, &entry, "body"), STORE_ADDED);
    assert_int_equal(store_name_later(fixture->store, id, &names, error), CH_OK);
    assert_int_equal(names, STORE_NAMES_PENDING);
    assert_int_equal(store_name_later(fixture->store, id, &names, error), CH_OK);
    assert_int_equal(names, STORE_NAMES_PENDING);
    struct claimed claimed = claim(fixture, 8, 0);
    assert_int_equal(claimed.count, 1);
    const struct store_named given_up = { .report = claimed.all[0].report,
                                          .turn = claimed.all[0].turn };
    assert_int_equal(store_rename(fixture->store, &given_up, 1, error), CH_OK);
    assert_int_equal(store_name_later(fixture->store, id, &names, error), CH_OK);
    assert_int_equal(names, STORE_NAMES_FAILED);
    assert_int_equal(claim(fixture, 8, 0).count, 0);
    struct store_backlog backlog;
    assert_int_equal(store_backlog_of(fixture->store, &backlog), CH_OK);
    assert_int_equal(backlog.waiting, 0);
    assert_int_equal(symbols_came(fixture, "beef06"), CH_OK);
    assert_int_equal(claim(fixture, 8, 0).count, 1);
}

static void titles_and_searches_follow(void **state)
{
    struct fixture *fixture = *state;
    rename_until_done(fixture, several, 8);
    assert_string_equal(list_groups(fixture, where(STORE_KEY_WORD, "in four")).ids,
                        "e");
    assert_string_equal(list_groups(fixture, where(STORE_KEY_WORD, "old")).ids, "");
}

#define OLD_TEST(test) cmocka_unit_test_setup_teardown(test, setup_old, teardown)

static void take_key_target(void *context, const struct sql_row *row)
{
    entry_copy(context, ENTRY_GROUP_SIZE, sql_column_text(row, "target"));
}

static void a_key_leads_to_the_group_that_its_target_was_merged_into(void **state)
{
    struct fixture *fixture = *state;
    struct sql_options options = { .name = fixture->name,
                                   .statements = store_statements };
    const struct sql_value key = sql_text("aaaaaaaa");
    char error[SQL_ERROR_SIZE];
    char target[ENTRY_GROUP_SIZE] = "";
    struct sql *sql = NULL;
    assert_int_equal(sql_open(&options, error, &sql), CH_OK);
    bool done = sql_script(sql, "INSERT INTO keys(fingerprint, target, time)"
                                " VALUES('aaaaaaaa', 'bbbbbbbb', 1);"
                                "INSERT INTO merged(fingerprint, target)"
                                " VALUES('bbbbbbbb', 'cccccccc')") == CH_OK;
    sql_queue(sql, STORE_KEY_FIND, &key, 1, take_key_target, target);
    done = sql_flush(sql) == CH_OK && done;
    sql_close(sql);
    assert_true(done);
    assert_string_equal(target, "cccccccc");
}

static void what_a_collector_of_before_stores_is_keyed_again(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    int64_t jobs = -1;
    bool more = true;
    struct sql *sql = NULL;
    struct sql_options options = { .name = fixture->name };
    assert_int_equal(add_new(fixture, 1, "aaaaaaaa", 1), STORE_ADDED);
    assert_int_equal(store_key_again(fixture->store, &more, error), CH_OK);
    assert_false(more);
    // As a program stores it that does not know these columns.
    assert_int_equal(sql_open(&options, error, &sql), CH_OK);
    assert_int_equal(sql_script(sql, "UPDATE reports SET keyed = 0;"
                                     "UPDATE groups SET program = '';"
                                     "DELETE FROM program_days; DELETE FROM jobs"),
                     CH_OK);
    assert_int_equal(store_key_again(fixture->store, &more, error), CH_OK);
    assert_true(more);
    assert_int_equal(
        sql_query(sql, "SELECT count(*) FROM jobs", NULL, 0, sql_take_number, &jobs),
        CH_OK);
    sql_close(sql);
    assert_int_equal(jobs, 1);
    assert_string_equal(list_groups(fixture, where(STORE_KEY_NEW, "")).ids, "a");
    assert_int_equal(store_key_again(fixture->store, &more, error), CH_OK);
    assert_false(more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OLD_TEST(an_old_group_that_becomes_several_gives_each_its_decision),
        OLD_TEST(the_old_key_leads_to_the_group_of_the_newest_report),
        OLD_TEST(of_groups_that_become_one_the_latest_decision_holds),
        OLD_TEST(a_merge_of_before_holds_under_both_keys),
        OLD_TEST(counts_of_removed_reports_follow_the_newest),
        OLD_TEST(a_report_that_comes_first_takes_the_old_decision_along),
        OLD_TEST(a_resolved_group_is_back_when_a_newer_release_joins_it),
        STORE_TEST(what_a_collector_of_before_stores_is_keyed_again),
        OLD_TEST(a_claim_is_given_to_one_and_ends_with_its_lease),
        OLD_TEST(what_is_queued_again_meanwhile_is_not_done),
        OLD_TEST(all_reports_of_a_build_are_queued_though_in_steps),
        OLD_TEST(a_report_of_a_build_whose_debug_file_is_known_is_queued),
        OLD_TEST(places_are_kept_unless_another_debug_file_came_since),
        OLD_TEST(a_project_gets_the_places_of_its_own_file_and_of_everybodys),
        OLD_TEST(a_debug_file_of_a_project_queues_its_reports_alone),
        OLD_TEST(the_places_of_a_build_go_with_its_last_report),
        OLD_TEST(a_report_that_is_looked_at_is_queued_unless_it_was_given_up),
        OLD_TEST(titles_and_searches_follow),
        cmocka_unit_test_setup_teardown(
            a_key_leads_to_the_group_that_its_target_was_merged_into, setup, teardown),
    };
    return cmocka_run_group_tests_name("collector/store_rename", tests, NULL, NULL);
}
