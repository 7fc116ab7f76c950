// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/sums.h"

#include "collector/store_fixture.h"

enum { LATER_MS = 3600000 };

// sums_of makes sums that are kept from the first report on.
static struct sums *sums_of(const struct fixture *fixture)
{
    struct sums *sums = calloc(1, sizeof(*sums));
    assert_non_null(sums);
    sums_init(sums, fixture->store);
    sums->many = 1;
    return sums;
}

static void sums_free(struct sums *sums)
{
    sums_deinit(sums);
    free(sums);
}

static int add_of(struct fixture *fixture, unsigned number, const char *project)
{
    struct entry entry = make_entry(fixture, number, "aaaaaaaa", 0);
    entry.group[0] = project[0] != 0 ? project[0] : 'a';
    (void)snprintf(entry.project, sizeof(entry.project), "%s", project);
    return add(fixture, &entry, "body");
}

// show is how many reports pages show of a project.
static int64_t show(struct sums *sums, const char *project)
{
    struct store_totals totals = { 0 };
    struct sums_hosts hosts = { .count = 0 };
    assert_int_equal(sums_count(sums, project, &totals), CH_OK);
    assert_int_equal(sums_lone_hosts(sums, project, &hosts), CH_OK);
    return totals.reports;
}

static void sums_of_few_reports_are_never_old(void **state)
{
    struct fixture *fixture = *state;
    struct sums *sums = sums_of(fixture);
    sums->many = 3;
    for (unsigned number = 1; number <= 2; number++) {
        assert_int_equal(add_of(fixture, number, ""), STORE_ADDED);
        sums_renew(sums, moment_now());
        assert_int_equal(show(sums, ""), number);
    }
    sums_free(sums);
}

static void sums_of_many_reports_are_kept_until_they_are_due(void **state)
{
    struct fixture *fixture = *state;
    struct sums *sums = sums_of(fixture);
    assert_int_equal(add_of(fixture, 1, ""), STORE_ADDED);
    sums_renew(sums, moment_now());
    assert_int_equal(add_of(fixture, 2, ""), STORE_ADDED);
    int64_t kept = show(sums, "");
    sums_renew(sums, moment_now()); // too early
    int64_t still = show(sums, "");
    sums_renew(sums, moment_now() + LATER_MS);
    sums->kept[0].made_ms = moment_now();
    int64_t renewed = show(sums, "");
    sums_free(sums);
    assert_int_equal(kept, 1);
    assert_int_equal(still, 1);
    assert_int_equal(renewed, 2);
}

static void each_project_sees_its_own_sums(void **state)
{
    struct fixture *fixture = *state;
    struct sums *sums = sums_of(fixture);
    assert_int_equal(add_of(fixture, 1, "bank"), STORE_ADDED);
    assert_int_equal(add_of(fixture, 2, "shop"), STORE_ADDED);
    for (int i = 0; i < 2; i++) { // summed, then kept
        assert_int_equal(show(sums, "bank"), 1);
        assert_int_equal(show(sums, "shop"), 1);
        assert_int_equal(show(sums, ""), 2);
        sums_renew(sums, moment_now());
    }
    sums_free(sums);
}

static void more_projects_than_are_kept_are_summed(void **state)
{
    struct fixture *fixture = *state;
    struct sums *sums = sums_of(fixture);
    char project[2] = "b";
    for (unsigned i = 0; i < SUMS_KEPT + 3; i++) {
        project[0] = (char)('b' + i);
        assert_int_equal(add_of(fixture, 1 + i, project), STORE_ADDED);
    }
    for (unsigned i = 0; i < 2 * (SUMS_KEPT + 3); i++) {
        project[0] = (char)('b' + i % (SUMS_KEPT + 3));
        assert_int_equal(show(sums, project), 1);
        sums_renew(sums, moment_now());
    }
    sums_free(sums);
}

static void the_thread_sums_at_its_start_and_ends_when_told(void **state)
{
    struct fixture *fixture = *state;
    struct sums *sums = sums_of(fixture);
    bool there = false;
    assert_int_equal(add_of(fixture, 1, ""), STORE_ADDED);
    assert_int_equal(sums_start(sums), CH_OK);
    while (!there) {
        pthread_mutex_lock(&sums->lock);
        there = sums->kept[0].there;
        pthread_mutex_unlock(&sums->lock);
        usleep(1000);
    }
    sums_free(sums);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(sums_of_few_reports_are_never_old),
        STORE_TEST(sums_of_many_reports_are_kept_until_they_are_due),
        STORE_TEST(each_project_sees_its_own_sums),
        STORE_TEST(more_projects_than_are_kept_are_summed),
        STORE_TEST(the_thread_sums_at_its_start_and_ends_when_told),
    };
    return cmocka_run_group_tests_name("collector/sums", tests, NULL, NULL);
}
