// SPDX-License-Identifier: Apache-2.0
//
// What people and time do to groups: decisions, merging and splitting, regressions; and
// several stores over one database.
#include <pthread.h>

#include "collector/query/store_values.h"
#include "collector/store/store_rest.h"
#include "collector/store_fixture.h"

static int add_release(struct fixture *fixture, unsigned number, const char *group,
                       const char *release)
{
    struct entry entry = make_entry(fixture, number, group, 0);
    (void)snprintf(entry.release, sizeof(entry.release), "%s", release);
    return add(fixture, &entry, "body");
}

static enum ch_status decide(struct fixture *fixture, const char *group,
                             struct store_decision decision)
{
    char error[STORE_ERROR_SIZE];
    return store_decide(fixture->store, group, &decision, error);
}

static enum ch_status merge(struct fixture *fixture, const char *from, const char *into)
{
    char error[STORE_ERROR_SIZE];
    return store_merge(fixture->store, from, into, "kim", error);
}

static enum ch_status split(struct fixture *fixture, const char *fingerprint)
{
    char error[STORE_ERROR_SIZE];
    return store_split(fixture->store, fingerprint, "kim", error);
}

static void see_merged(void *context, const struct store_merged *merged)
{
    struct seen *seen = context;
    seen->ids[seen->count++] = merged->fingerprint[0];
    seen->group.kept += merged->recent;
}

static void a_decision_changes_what_it_names_and_nothing_else(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(add_new(fixture, 1, "aaaaaaaa", 0), STORE_ADDED);
    assert_string_equal(find_group(fixture, "aaaaaaaa").status, "open");
    assert_int_equal(decide(fixture, "aaaaaaaa",
                            (struct store_decision){ .status = "ignored",
                                                     .note = "it's \"known\" \xc3\xa9",
                                                     .assignee = "kim" }),
                     CH_OK);
    assert_int_equal(
        decide(fixture, "aaaaaaaa", (struct store_decision){ .assignee = "lee" }),
        CH_OK);
    struct seen seen = find_group(fixture, "aaaaaaaa");
    assert_string_equal(seen.status, "ignored");
    assert_string_equal(seen.note, "it's \"known\" \xc3\xa9");
    assert_string_equal(seen.assignee, "lee");
    assert_int_equal(decide(fixture, "bbbbbbbb", (struct store_decision){ 0 }),
                     CH_ERR_NOT_FOUND);
}

static void lists_are_narrowed_by_status(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(add_new(fixture, 1, "aaaaaaaa", 5), STORE_ADDED);
    assert_int_equal(add_new(fixture, 2, "bbbbbbbb", 0), STORE_ADDED);
    assert_int_equal(
        decide(fixture, "aaaaaaaa", (struct store_decision){ .status = "ignored" }),
        CH_OK);
    struct store_filter filter = where(STORE_KEY_STATUS, "ignored");
    assert_string_equal(list_groups(fixture, filter).ids, "a");
    assert_string_equal(list(fixture, filter).ids, "1");
    filter = where(STORE_KEY_STATUS, "open");
    assert_string_equal(list_groups(fixture, filter).ids, "b");
}

static void a_resolved_group_regresses_in_a_newer_release_alone(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(add_release(fixture, 1, "aaaaaaaa", "1.9"), STORE_ADDED);
    assert_int_equal(add_release(fixture, 2, "aaaaaaaa", "1.10"), STORE_ADDED);
    assert_int_equal(
        decide(fixture, "aaaaaaaa", (struct store_decision){ .status = "resolved" }),
        CH_OK);
    struct seen seen = find_group(fixture, "aaaaaaaa");
    assert_string_equal(seen.status, "resolved");
    assert_string_equal(seen.status_release, "1.10");

    assert_int_equal(add_release(fixture, 3, "aaaaaaaa", "1.9.5"), STORE_ADDED);
    assert_int_equal(add_release(fixture, 4, "aaaaaaaa", "1.10"), STORE_ADDED);
    assert_string_equal(find_group(fixture, "aaaaaaaa").status, "resolved");
    assert_int_equal(add_release(fixture, 5, "aaaaaaaa", "1.11-rc.1"), STORE_ADDED);
    seen = find_group(fixture, "aaaaaaaa");
    assert_string_equal(seen.status, "regressed");
    assert_string_equal(seen.status_release, "1.11-rc.1");
    assert_int_equal(seen.group.count, 5);
}

static void a_group_resolved_in_a_release_to_come_waits_for_a_newer_one(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(add_release(fixture, 1, "aaaaaaaa", "1.0"), STORE_ADDED);
    assert_int_equal(
        decide(fixture, "aaaaaaaa",
               (struct store_decision){ .status = "resolved", .release = "2.0" }),
        CH_OK);
    assert_int_equal(add_release(fixture, 2, "aaaaaaaa", "1.5"), STORE_ADDED);
    assert_string_equal(find_group(fixture, "aaaaaaaa").status, "resolved");
    assert_int_equal(add_release(fixture, 3, "aaaaaaaa", "2.0.1"), STORE_ADDED);
    assert_string_equal(find_group(fixture, "aaaaaaaa").status, "regressed");
}

static void a_group_resolved_in_a_release_regresses_in_that_one_too(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(add_release(fixture, 1, "aaaaaaaa", "1.4.2"), STORE_ADDED);
    assert_int_equal(
        decide(fixture, "aaaaaaaa",
               (struct store_decision){ .status = "resolved", .release = "1.4.3" }),
        CH_OK);
    struct seen seen = find_group(fixture, "aaaaaaaa");
    assert_string_equal(seen.status_release, "1.4.3");
    assert_true(seen.group.resolved_in_it);
    // A crash of that release from before the decision says nothing.
    assert_int_equal(add_release(fixture, 2, "aaaaaaaa", "1.4.3"), STORE_ADDED);
    fixture->now_ms = timestamp_now() + 60000;
    assert_int_equal(add_release(fixture, 3, "aaaaaaaa", "1.4.2"), STORE_ADDED);
    assert_string_equal(find_group(fixture, "aaaaaaaa").status, "resolved");
    assert_int_equal(add_release(fixture, 4, "aaaaaaaa", "1.4.3"), STORE_ADDED);
    seen = find_group(fixture, "aaaaaaaa");
    assert_string_equal(seen.status, "regressed");
    assert_string_equal(seen.status_release, "1.4.3");
    assert_string_equal(seen.resolved_in, "1.4.3");
}

static void an_ignored_group_is_open_again_when_enough_came(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(add_release(fixture, 1, "aaaaaaaa", "1"), STORE_ADDED);
    assert_int_equal(
        decide(fixture, "aaaaaaaa",
               (struct store_decision){ .status = "ignored", .more_reports = 2 }),
        CH_OK);
    assert_int_equal(add_release(fixture, 2, "aaaaaaaa", "1"), STORE_ADDED);
    assert_string_equal(find_group(fixture, "aaaaaaaa").status, "ignored");
    assert_int_equal(add_release(fixture, 3, "aaaaaaaa", "1"), STORE_ADDED);
    assert_string_equal(find_group(fixture, "aaaaaaaa").status, "open");
}

static void
an_ignored_group_is_open_again_on_enough_machines_or_after_its_time(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(add_release(fixture, 1, "aaaaaaaa", "1"), STORE_ADDED);
    struct store_decision decision = { .status = "ignored", .more_machines = 1 };
    assert_int_equal(decide(fixture, "aaaaaaaa", decision), CH_OK);
    assert_int_equal(add_release(fixture, 2, "aaaaaaaa", "1"), STORE_ADDED);
    assert_string_equal(find_group(fixture, "aaaaaaaa").status, "ignored");
    struct entry entry = make_entry(fixture, 3, "aaaaaaaa", 0);
    (void)snprintf(entry.hostname, sizeof(entry.hostname), "another");
    assert_int_equal(add(fixture, &entry, "body"), STORE_ADDED);
    assert_string_equal(find_group(fixture, "aaaaaaaa").status, "open");

    decision = (struct store_decision){ .status = "ignored",
                                        .until_ms = fixture->now_ms + 500 };
    assert_int_equal(decide(fixture, "aaaaaaaa", decision), CH_OK);
    assert_int_equal(add_release(fixture, 4, "aaaaaaaa", "1"), STORE_ADDED);
    assert_string_equal(find_group(fixture, "aaaaaaaa").status, "ignored");
    fixture->now_ms += 1000;
    assert_int_equal(add_release(fixture, 5, "aaaaaaaa", "1"), STORE_ADDED);
    assert_string_equal(find_group(fixture, "aaaaaaaa").status, "open");
}

static void a_decision_about_an_older_version_is_refused(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(add_release(fixture, 1, "aaaaaaaa", "1"), STORE_ADDED);
    struct store_decision first = { .note = "mine", .versioned = true, .who = "kim" };
    struct store_decision second = { .note = "other", .versioned = true };
    assert_int_equal(decide(fixture, "aaaaaaaa", first), CH_OK);
    assert_int_equal(decide(fixture, "aaaaaaaa", second), CH_ERR_MALFORMED);
    struct seen seen = find_group(fixture, "aaaaaaaa");
    assert_string_equal(seen.note, "mine");
    second.version = seen.group.version;
    assert_int_equal(decide(fixture, "aaaaaaaa", second), CH_OK);
    assert_string_equal(find_group(fixture, "aaaaaaaa").note, "other");
}

static void without_releases_a_later_crash_regresses(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(add_release(fixture, 1, "aaaaaaaa", ""), STORE_ADDED);
    assert_int_equal(
        decide(fixture, "aaaaaaaa", (struct store_decision){ .status = "resolved" }),
        CH_OK);
    assert_int_equal(add_release(fixture, 2, "aaaaaaaa", ""), STORE_ADDED);
    assert_string_equal(find_group(fixture, "aaaaaaaa").status, "resolved");
    fixture->now_ms = timestamp_now() + 60000;
    assert_int_equal(add_release(fixture, 3, "aaaaaaaa", ""), STORE_ADDED);
    assert_string_equal(find_group(fixture, "aaaaaaaa").status, "regressed");
}

static void ignored_groups_stay_ignored(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(add_release(fixture, 1, "aaaaaaaa", "1"), STORE_ADDED);
    assert_int_equal(
        decide(fixture, "aaaaaaaa", (struct store_decision){ .status = "ignored" }),
        CH_OK);
    assert_int_equal(add_release(fixture, 2, "aaaaaaaa", "2"), STORE_ADDED);
    assert_string_equal(find_group(fixture, "aaaaaaaa").status, "ignored");
}

static void merging_moves_reports_and_figures(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(add_new(fixture, 1, "aaaaaaaa", 90), STORE_ADDED);
    assert_int_equal(add_new(fixture, 2, "bbbbbbbb", 10), STORE_ADDED);
    assert_int_equal(add_release(fixture, 3, "bbbbbbbb", "2.0"), STORE_ADDED);
    assert_int_equal(merge(fixture, "aaaaaaaa", "bbbbbbbb"), CH_OK);

    struct seen seen = find_group(fixture, "bbbbbbbb");
    assert_int_equal(seen.group.count, 3);
    assert_int_equal(seen.group.kept, 3);
    assert_int_equal(seen.group.first_seen_ms, fixture->now_ms - 90 * 60000);
    assert_int_equal(seen.group.last_seen_ms, fixture->now_ms);
    assert_int_equal(seen.group.release_counts[0] + seen.group.release_counts[1], 3);
    assert_string_equal(list(fixture, (struct store_filter){ .group = "bbbbbbbb" }).ids,
                        "321");
    // The old id still leads to it.
    assert_string_equal(find_group(fixture, "aaaaaaaa").ids, "b");
    assert_string_equal(list_groups(fixture, (struct store_filter){ 0 }).ids, "b");
}

static void a_later_report_of_a_merged_fingerprint_goes_to_the_target(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    assert_int_equal(add_new(fixture, 1, "aaaaaaaa", 0), STORE_ADDED);
    assert_int_equal(add_new(fixture, 2, "bbbbbbbb", 0), STORE_ADDED);
    assert_int_equal(add_new(fixture, 3, "cccccccc", 0), STORE_ADDED);
    assert_int_equal(merge(fixture, "aaaaaaaa", "bbbbbbbb"), CH_OK);
    assert_int_equal(merge(fixture, "bbbbbbbb", "cccccccc"), CH_OK);
    struct entry entry = make_entry(fixture, 4, "aaaaaaaa", 0);
    struct store_upload upload = { .entry = &entry, .body = "b", .body_size = 1 };
    assert_int_equal(store_add(fixture->store, &upload, 1, error), CH_OK);
    assert_string_equal(upload.group, "cccccccc");
    assert_int_equal(find_group(fixture, "cccccccc").group.count, 4);
    assert_int_equal(merge(fixture, "aaaaaaaa", "cccccccc"), CH_ERR_MALFORMED);
    assert_int_equal(merge(fixture, "dddddddd", "cccccccc"), CH_ERR_NOT_FOUND);
}

static void splitting_undoes_a_merge_with_all_that_came_since(void **state)
{
    struct fixture *fixture = *state;
    struct seen seen = { 0 };
    assert_int_equal(add_new(fixture, 1, "aaaaaaaa", 90), STORE_ADDED);
    assert_int_equal(add_release(fixture, 2, "bbbbbbbb", "2.0"), STORE_ADDED);
    assert_int_equal(merge(fixture, "aaaaaaaa", "bbbbbbbb"), CH_OK);
    assert_int_equal(add_new(fixture, 3, "aaaaaaaa", 60), STORE_ADDED);
    assert_int_equal(store_list_merged(fixture->store, "bbbbbbbb", see_merged, &seen),
                     CH_OK);
    assert_string_equal(seen.ids, "a");
    assert_int_equal(seen.group.kept, 2);

    assert_int_equal(split(fixture, "aaaaaaaa"), CH_OK);
    struct seen own = find_group(fixture, "aaaaaaaa");
    assert_string_equal(own.ids, "a");
    assert_int_equal(own.group.count, 2);
    assert_int_equal(own.group.release_count, 1);
    struct seen left = find_group(fixture, "bbbbbbbb");
    assert_int_equal(left.group.count, 1);
    assert_int_equal(left.group.release_count, 1);
    assert_int_equal(left.group.first_seen_ms, fixture->now_ms);
    assert_int_equal(add_new(fixture, 4, "aaaaaaaa", 0), STORE_ADDED);
    assert_int_equal(find_group(fixture, "aaaaaaaa").group.count, 3);
    assert_int_equal(split(fixture, "bbbbbbbb"), CH_ERR_NOT_FOUND);
}

static void work_in_the_background_rests_while_uploads_come(void **state)
{
    struct fixture *fixture = *state;
    if (getenv("CRASHHOOK_TEST_POSTGRESQL") == NULL)
        assert_true(store_rest_ms(fixture->store, 100) < 100);
    assert_int_equal(add_new(fixture, 1, "aaaaaaaa", 0), STORE_ADDED);
    assert_int_equal(store_rest_ms(fixture->store, 100), 900);
    assert_true(store_rest_ms(fixture->store, 60000) < 60000);
}

enum { WRITERS = 4, ROUNDS = 10, BATCH = 8 };

// A writer has a store of its own, as another collector would.
struct writer {
    struct fixture fixture;
    unsigned number;
    int added;
    bool failed;
    pthread_t thread;
};

static void *write_rounds(void *context)
{
    struct writer *writer = context;
    char error[STORE_ERROR_SIZE];
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct entry entries[BATCH];
        struct store_upload uploads[BATCH] = { 0 };
        for (unsigned i = 0; i < BATCH; i++) {
            // Half of them are sent by every writer; groups come in either order.
            unsigned id = round * 100 + i + (i % 2 == 0 ? 0 : writer->number * 10000);
            unsigned g = writer->number % 2 == 0 ? i : BATCH - i;
            static const char *const groups[] = { "aaaaaaaa", "bbbbbbbb", "cccccccc" };
            entries[i] = make_entry(&writer->fixture, id, groups[g % 3], 0);
            uploads[i] = (struct store_upload){ .entry = &entries[i],
                                                .body = "b",
                                                .body_size = 1 };
        }
        if (store_add(writer->fixture.store, uploads, BATCH, error) != CH_OK) {
            print_error("%s\n", error);
            writer->failed = true;
        }
        for (unsigned i = 0; i < BATCH; i++)
            writer->added += uploads[i].outcome == STORE_ADDED;
    }
    return NULL;
}

static void several_stores_over_one_database_keep_each_report_once(void **state)
{
    struct fixture *fixture = *state;
    struct writer writers[WRITERS] = { 0 };
    int added = 0;
    bool failed = false;
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i].number = i + 1;
        writers[i].fixture = *fixture;
        failed |= !open_store(&writers[i].fixture);
    }
    for (unsigned i = 0; i < WRITERS && !failed; i++)
        failed |=
            pthread_create(&writers[i].thread, NULL, write_rounds, &writers[i]) != 0;
    for (unsigned i = 0; i < WRITERS && writers[i].thread != 0; i++) {
        pthread_join(writers[i].thread, NULL);
        added += writers[i].added;
        failed |= writers[i].failed;
    }
    for (unsigned i = 0; i < WRITERS; i++)
        store_close(writers[i].fixture.store);
    assert_false(failed);
    int expected = ROUNDS * BATCH / 2 * (WRITERS + 1);
    struct store_totals totals = { 0 };
    assert_int_equal(added, expected);
    assert_int_equal(store_count(fixture->store, "", &totals), CH_OK);
    assert_int_equal(totals.reports, expected);
    int64_t releases = 0;
    releases += find_group(fixture, "aaaaaaaa").group.release_counts[0];
    releases += find_group(fixture, "bbbbbbbb").group.release_counts[0];
    releases += find_group(fixture, "cccccccc").group.release_counts[0];
    assert_int_equal(releases, expected);
}

// add_held adds report number of a group, which tells of crashes that were held back.
static enum store_outcome add_held(struct fixture *fixture, unsigned number,
                                   int64_t revision, const char *of, int64_t count)
{
    struct entry entry = make_entry(fixture, number, "aaaaaaaa", 0);
    entry.revision = revision;
    entry.held_count = 1;
    entry.held[0].count = count;
    entry_copy(entry.held[0].fingerprint, sizeof(entry.held[0].fingerprint), of);
    return add(fixture, &entry, "body");
}

static int64_t held_back(struct fixture *fixture, const char *group)
{
    return find_group(fixture, group).group.held_back;
}

static void what_was_held_back_is_added_up_by_fingerprint(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(add_new(fixture, 9, "bbbbbbbb", 0), STORE_ADDED);
    assert_int_equal(add_held(fixture, 1, 0, "aaaaaaaa", 3), STORE_ADDED);
    assert_int_equal(add_held(fixture, 2, 0, "aaaaaaaa", 40), STORE_ADDED);
    assert_int_equal(add_held(fixture, 3, 0, "bbbbbbbb", 500), STORE_ADDED);
    assert_int_equal(held_back(fixture, "aaaaaaaa"), 43);
    assert_int_equal(held_back(fixture, "bbbbbbbb"), 500);
    // A newer revision tells the same again, or more.
    assert_int_equal(add_held(fixture, 2, 1, "aaaaaaaa", 41), STORE_REPLACED);
    assert_int_equal(add_held(fixture, 2, 1, "aaaaaaaa", 41), STORE_KEPT);
    assert_int_equal(held_back(fixture, "aaaaaaaa"), 44);
    assert_int_equal(find_group(fixture, "aaaaaaaa").group.count, 3);
}

static void what_was_held_back_goes_with_merged_groups_and_with_retention(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    size_t removed = 0;
    assert_int_equal(add_new(fixture, 9, "bbbbbbbb", 0), STORE_ADDED);
    assert_int_equal(add_held(fixture, 1, 1, "aaaaaaaa", 3), STORE_ADDED);
    assert_int_equal(add_held(fixture, 3, 1, "bbbbbbbb", 500), STORE_ADDED);
    assert_int_equal(store_merge(fixture->store, "aaaaaaaa", "bbbbbbbb", NULL, error),
                     CH_OK);
    assert_int_equal(held_back(fixture, "bbbbbbbb"), 503);
    assert_int_equal(store_split(fixture->store, "aaaaaaaa", NULL, error), CH_OK);
    assert_int_equal(held_back(fixture, "aaaaaaaa"), 3);
    assert_int_equal(held_back(fixture, "bbbbbbbb"), 500);
    struct store_retention old = { .age_ms = 3600000 };
    fixture->now_ms -= 2 * old.age_ms;
    assert_int_equal(add_held(fixture, 4, 1, "bbbbbbbb", 7), STORE_ADDED);
    assert_int_equal(held_back(fixture, "bbbbbbbb"), 507);
    assert_int_equal(store_trim(fixture->store, &old, &removed, error), CH_OK);
    assert_int_equal(removed, 1);
    assert_int_equal(held_back(fixture, "bbbbbbbb"), 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_decision_changes_what_it_names_and_nothing_else),
        STORE_TEST(lists_are_narrowed_by_status),
        STORE_TEST(a_resolved_group_regresses_in_a_newer_release_alone),
        STORE_TEST(a_group_resolved_in_a_release_to_come_waits_for_a_newer_one),
        STORE_TEST(a_group_resolved_in_a_release_regresses_in_that_one_too),
        STORE_TEST(an_ignored_group_is_open_again_when_enough_came),
        STORE_TEST(an_ignored_group_is_open_again_on_enough_machines_or_after_its_time),
        STORE_TEST(a_decision_about_an_older_version_is_refused),
        STORE_TEST(without_releases_a_later_crash_regresses),
        STORE_TEST(ignored_groups_stay_ignored),
        STORE_TEST(merging_moves_reports_and_figures),
        STORE_TEST(a_later_report_of_a_merged_fingerprint_goes_to_the_target),
        STORE_TEST(splitting_undoes_a_merge_with_all_that_came_since),
        STORE_TEST(work_in_the_background_rests_while_uploads_come),
        STORE_TEST(what_was_held_back_is_added_up_by_fingerprint),
        STORE_TEST(what_was_held_back_goes_with_merged_groups_and_with_retention),
        STORE_TEST(several_stores_over_one_database_keep_each_report_once),
    };
    return cmocka_run_group_tests_name("collector/store_groups", tests, NULL, NULL);
}
