// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/aggregates.h"

#include "collector/store_fixture.h"

enum { LATER_MS = 3600000 };

// aggregates_of makes sums that are kept from the first report on.
static struct aggregates *aggregates_of(const struct fixture *fixture)
{
    struct aggregates *aggregates = calloc(1, sizeof(*aggregates));
    assert_non_null(aggregates);
    aggregates_init(aggregates, fixture->store);
    aggregates->many = 1;
    return aggregates;
}

static void aggregates_free(struct aggregates *aggregates)
{
    aggregates_deinit(aggregates);
    free(aggregates);
}

static int add_of(struct fixture *fixture, unsigned number, const char *project)
{
    struct entry entry = make_entry(fixture, number, "aaaaaaaa", 0);
    entry.group[0] = project[0] != 0 ? project[0] : 'a';
    (void)snprintf(entry.project, sizeof(entry.project), "%s", project);
    return add(fixture, &entry, "body");
}

// show is how many reports pages show of a project.
static int64_t show(struct aggregates *aggregates, const char *project)
{
    struct store_totals totals = { 0 };
    struct aggregate_hosts hosts = { .count = 0 };
    assert_int_equal(aggregates_count(aggregates, project, &totals), CH_OK);
    assert_int_equal(aggregates_lone_hosts(aggregates, project, &hosts), CH_OK);
    return totals.reports;
}

static void aggregates_of_few_reports_are_never_old(void **state)
{
    struct fixture *fixture = *state;
    struct aggregates *aggregates = aggregates_of(fixture);
    aggregates->many = 3;
    for (unsigned number = 1; number <= 2; number++) {
        assert_int_equal(add_of(fixture, number, ""), STORE_ADDED);
        aggregates_renew(aggregates, timestamp_now());
        assert_int_equal(show(aggregates, ""), number);
    }
    aggregates_free(aggregates);
}

static void aggregates_of_many_reports_are_kept_until_they_are_due(void **state)
{
    struct fixture *fixture = *state;
    struct aggregates *aggregates = aggregates_of(fixture);
    assert_int_equal(add_of(fixture, 1, ""), STORE_ADDED);
    aggregates_renew(aggregates, timestamp_now());
    assert_int_equal(add_of(fixture, 2, ""), STORE_ADDED);
    int64_t kept = show(aggregates, "");
    aggregates_renew(aggregates, timestamp_now()); // too early
    int64_t still = show(aggregates, "");
    aggregates_renew(aggregates, timestamp_now() + LATER_MS);
    aggregates->ages[0].made_ms = timestamp_now();
    int64_t renewed = show(aggregates, "");
    aggregates_free(aggregates);
    assert_int_equal(kept, 1);
    assert_int_equal(still, 1);
    assert_int_equal(renewed, 2);
}

static void each_project_sees_its_own_sums(void **state)
{
    struct fixture *fixture = *state;
    struct aggregates *aggregates = aggregates_of(fixture);
    assert_int_equal(add_of(fixture, 1, "bank"), STORE_ADDED);
    assert_int_equal(add_of(fixture, 2, "shop"), STORE_ADDED);
    for (int i = 0; i < 2; i++) { // summed, then kept
        assert_int_equal(show(aggregates, "bank"), 1);
        assert_int_equal(show(aggregates, "shop"), 1);
        assert_int_equal(show(aggregates, ""), 2);
        aggregates_renew(aggregates, timestamp_now());
    }
    aggregates_free(aggregates);
}

static void more_projects_than_are_kept_are_summed(void **state)
{
    struct fixture *fixture = *state;
    struct aggregates *aggregates = aggregates_of(fixture);
    char project[2] = "b";
    for (unsigned i = 0; i < AGGREGATES_CACHED + 3; i++) {
        project[0] = (char)('b' + i);
        assert_int_equal(add_of(fixture, 1 + i, project), STORE_ADDED);
    }
    for (unsigned i = 0; i < 2 * (AGGREGATES_CACHED + 3); i++) {
        project[0] = (char)('b' + i % (AGGREGATES_CACHED + 3));
        assert_int_equal(show(aggregates, project), 1);
        aggregates_renew(aggregates, timestamp_now());
    }
    aggregates_free(aggregates);
}

static void the_thread_sums_at_its_start_and_ends_when_told(void **state)
{
    struct fixture *fixture = *state;
    struct aggregates *aggregates = aggregates_of(fixture);
    bool there = false;
    assert_int_equal(add_of(fixture, 1, ""), STORE_ADDED);
    assert_int_equal(aggregates_start(aggregates), CH_OK);
    while (!there) {
        pthread_mutex_lock(&aggregates->lock);
        there = aggregates->ages[0].cached;
        pthread_mutex_unlock(&aggregates->lock);
        usleep(1000);
    }
    aggregates_free(aggregates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(aggregates_of_few_reports_are_never_old),
        STORE_TEST(aggregates_of_many_reports_are_kept_until_they_are_due),
        STORE_TEST(each_project_sees_its_own_sums),
        STORE_TEST(more_projects_than_are_kept_are_summed),
        STORE_TEST(the_thread_sums_at_its_start_and_ends_when_told),
    };
    return cmocka_run_group_tests_name("collector/aggregates", tests, NULL, NULL);
}
