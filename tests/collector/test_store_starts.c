// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store_starts.h"

#include "collector/store_fixture.h"

enum { DAY_MS = 86400000 };

static int64_t today(const struct fixture *fixture)
{
    return fixture->now_ms / DAY_MS;
}

// count_starts adds a batch; 1: it counted, 0: it was there.
static int count_starts(const struct fixture *fixture, const char *id,
                        const char *release, int64_t starts, int64_t ends)
{
    char error[STORE_ERROR_SIZE];
    bool is_new = false;
    const struct store_start_batch batch = { .project = "shop",
                                             .id = id,
                                             .release = release,
                                             .host = "web-1",
                                             .day = today(fixture),
                                             .starts = starts,
                                             .ends = ends };
    if (store_add_starts(fixture->store, &batch, &is_new, error) != CH_OK)
        return -1;
    return is_new;
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
    const struct store_starts_wanted wanted = { .project = project,
                                                .release = release,
                                                .since_day = today(fixture) - 1 };
    assert_int_equal(store_list_starts(fixture->store, &wanted, see_start, &seen),
                     CH_OK);
    return seen;
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
    for (unsigned number = 1; number <= 3; number++) {
        struct entry entry = make_entry(fixture, number, "aaaaaaaa", 0);
        (void)snprintf(entry.project, sizeof(entry.project), "shop");
        (void)snprintf(entry.release, sizeof(entry.release), "1.2");
        (void)snprintf(entry.hostname, sizeof(entry.hostname), "web-1");
        if (number < 3)
            (void)snprintf(entry.session, sizeof(entry.session), "00000000000000aa");
        assert_int_equal(add(fixture, &entry, "body"), STORE_ADDED);
    }
    assert_int_equal(list_starts(fixture, "shop", "1.2").crashes, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(starts_of_a_release_add_up_and_each_batch_counts_once),
        STORE_TEST(a_session_crashes_once_whatever_it_reported),
    };
    return cmocka_run_group_tests_name("collector/store_starts", tests, NULL, NULL);
}
