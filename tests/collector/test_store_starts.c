// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store_starts.h"

#include "collector/store_fixture.h"

enum { DAY_MS = 86400000 };

static int64_t today(const struct fixture *fixture)
{
    return fixture->now_ms / DAY_MS;
}

// count_starts adds a batch; 1: it counted, 0: it was there.
static int count_batch(const struct fixture *fixture,
                       const struct store_start_batch *batch)
{
    char error[STORE_ERROR_SIZE];
    bool is_new = false;
    if (store_add_starts(fixture->store, batch, &is_new, error) != CH_OK)
        return -1;
    return is_new;
}

static int count_starts(const struct fixture *fixture, const char *id,
                        const char *release, int64_t starts, int64_t ends)
{
    const struct store_start_batch batch = { .project = "shop",
                                             .id = id,
                                             .release = release,
                                             .host = "web-1",
                                             .day = today(fixture),
                                             .starts = starts,
                                             .ends = ends };
    return count_batch(fixture, &batch);
}

// count_on counts ten starts of release 1.2, and nine ends, days ago.
static int count_on(const struct fixture *fixture, const char *id, const char *project,
                    const char *host, int64_t days)
{
    const struct store_start_batch batch = { .project = project,
                                             .id = id,
                                             .release = "1.2",
                                             .host = host,
                                             .day = today(fixture) - days,
                                             .starts = 10,
                                             .ends = 9 };
    return count_batch(fixture, &batch);
}

struct seen_starts {
    size_t count;
    char release[16];
    int64_t starts;
    int64_t ends;
    int64_t crashes;
};

static void see_start(void *context, const struct store_start_row *row)
{
    struct seen_starts *seen = context;
    seen->count++;
    (void)snprintf(seen->release, sizeof(seen->release), "%s", row->release);
    seen->starts = row->starts;
    seen->ends = row->ends;
    seen->crashes = row->crashes;
}

static struct seen_starts list_starts(const struct fixture *fixture,
                                      const char *project, const char *release)
{
    struct seen_starts seen = { 0 };
    assert_int_equal(store_list_starts(fixture->store, project,
                                       release[0] != 0 ? release : NULL, see_start,
                                       &seen),
                     CH_OK);
    return seen;
}

static struct seen_starts list_releases(const struct fixture *fixture,
                                        const char *project)
{
    struct seen_starts seen = { 0 };
    assert_int_equal(
        store_list_release_starts(fixture->store, project, see_start, &seen), CH_OK);
    return seen;
}

// crash adds a report of a session on a host.
static int crash(struct fixture *fixture, unsigned number, const char *session)
{
    struct entry entry = make_entry(fixture, number, "aaaaaaaa", 0);
    (void)snprintf(entry.project, sizeof(entry.project), "shop");
    (void)snprintf(entry.release, sizeof(entry.release), "1.2");
    (void)snprintf(entry.hostname, sizeof(entry.hostname), "web-1");
    (void)snprintf(entry.session, sizeof(entry.session), "%s", session);
    return add(fixture, &entry, "body");
}

static bool run_script(const struct fixture *fixture, const char *script)
{
    char error[SQL_ERROR_SIZE];
    struct sql *sql = NULL;
    struct sql_options options = { .name = fixture->name };
    if (sql_open(&options, error, &sql) != CH_OK)
        return false;
    bool done = sql_script(sql, script) == CH_OK;
    if (!done)
        print_error("%s\n", sql->error);
    sql_close(sql);
    return done;
}

static void starts_of_a_release_add_up_and_each_batch_counts_once(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(count_starts(fixture, "first", "1.2", 10, 7), 1);
    assert_int_equal(count_starts(fixture, "first", "1.2", 10, 7), 0);
    assert_int_equal(count_starts(fixture, "second", "1.2", 5, 5), 1);
    assert_int_equal(count_starts(fixture, "third", "1.3", 1, 1), 1);
    struct seen_starts seen = list_starts(fixture, "shop", "1.2");
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.starts, 15);
    assert_int_equal(seen.ends, 12);
    assert_int_equal(seen.crashes, 0);
    assert_int_equal(list_starts(fixture, "", "").count, 2);
    assert_int_equal(list_starts(fixture, "other", "").count, 0);
}

static void a_session_crashes_once_whatever_it_reported(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(count_starts(fixture, "first", "1.2", 10, 7), 1);
    assert_int_equal(crash(fixture, 1, "00000000000000aa"), STORE_ADDED);
    assert_int_equal(crash(fixture, 2, "00000000000000aa"), STORE_ADDED);
    assert_int_equal(crash(fixture, 3, ""), STORE_ADDED);
    assert_int_equal(list_releases(fixture, "shop").crashes, 1);
    assert_int_equal(list_releases(fixture, "").crashes, 1);
    assert_int_equal(list_starts(fixture, "shop", "1.2").crashes, 1);
}

static void a_release_is_summed_over_all_hosts_of_its_project(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(count_on(fixture, "first", "shop", "web-1", 0), 1);
    assert_int_equal(count_on(fixture, "second", "shop", "web-2", 3), 1);
    assert_int_equal(count_on(fixture, "third", "bank", "web-1", 0), 1);
    assert_int_equal(count_on(fixture, "fourth", "", "web-1", 0), 1);
    assert_int_equal(list_releases(fixture, "shop").starts, 20);
    assert_int_equal(list_releases(fixture, "bank").ends, 9);
    struct seen_starts all = list_releases(fixture, "");
    assert_int_equal(all.count, 1);
    assert_int_equal(all.starts, 40);
    assert_int_equal(all.ends, 36);
    assert_int_equal(list_starts(fixture, "", "").count, 2);
    assert_int_equal(list_starts(fixture, "shop", "1.2").count, 2);
    assert_int_equal(list_starts(fixture, "bank", "").starts, 10);
}

static void a_release_that_crashed_without_a_start_is_not_listed(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(crash(fixture, 1, "00000000000000aa"), STORE_ADDED);
    assert_int_equal(list_releases(fixture, "").count, 0);
    assert_int_equal(list_starts(fixture, "", "").count, 0);
}

static void days_of_before_leave_the_sums(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    bool more = false;
    assert_int_equal(count_on(fixture, "old", "shop", "web-1", STORE_START_DAYS + 1),
                     1);
    assert_int_equal(count_on(fixture, "gone", "shop", "web-2", STORE_START_DAYS + 2),
                     1);
    assert_int_equal(count_on(fixture, "new", "shop", "web-1", STORE_START_DAYS), 1);
    assert_int_equal(list_releases(fixture, "shop").starts, 10);
    assert_int_equal(store_forget_starts(fixture->store, &more, error), CH_OK);
    assert_true(more);
    assert_int_equal(store_forget_starts(fixture->store, &more, error), CH_OK);
    assert_false(more);
    for (int i = 0; i < 2; i++) {
        struct seen_starts seen = list_starts(fixture, i == 0 ? "" : "shop", "");
        assert_int_equal(seen.count, 1);
        assert_int_equal(seen.starts, 10);
        assert_int_equal(seen.ends, 9);
    }
    assert_int_equal(count_on(fixture, "old", "shop", "web-1", 0), 0);
}

// What an older collector that shares the database writes.
static void starts_that_an_older_program_counts_are_summed_too(void **state)
{
    struct fixture *fixture = *state;
    char script[512];
    (void)snprintf(script, sizeof(script),
                   "INSERT INTO start_days(project, release, hostname, day, begun,"
                   " ended) VALUES('shop', '1.2', 'web-1', %lld, 3, 2)"
                   " ON CONFLICT(project, release, hostname, day) DO UPDATE SET"
                   " begun = start_days.begun + excluded.begun,"
                   " ended = start_days.ended + excluded.ended",
                   (long long)today(fixture));
    assert_true(run_script(fixture, script));
    assert_true(run_script(fixture, script));
    assert_int_equal(list_starts(fixture, "shop", "1.2").starts, 6);
    assert_int_equal(list_releases(fixture, "").ends, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(starts_of_a_release_add_up_and_each_batch_counts_once),
        STORE_TEST(a_session_crashes_once_whatever_it_reported),
        STORE_TEST(a_release_is_summed_over_all_hosts_of_its_project),
        STORE_TEST(a_release_that_crashed_without_a_start_is_not_listed),
        STORE_TEST(days_of_before_leave_the_sums),
        STORE_TEST(starts_that_an_older_program_counts_are_summed_too),
    };
    return cmocka_run_group_tests_name("collector/store_starts", tests, NULL, NULL);
}
