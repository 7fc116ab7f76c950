// SPDX-License-Identifier: Apache-2.0
//
// A database that an older program left is brought forward with all that is in it.
#include "collector/first_layout.h"
#include "collector/store_fixture.h"

static const char first_layout[] = FIRST_LAYOUT "PRAGMA user_version = 1;";

static const char first_rows[] =
    "INSERT INTO groups VALUES(5, 'aaaaaaaa', 'SIGSEGV in old', 'Read', 11, 'open', 2,"
    " 1000, 2000);"
    "INSERT INTO group_releases VALUES(5, '1.0', 2, 2000);"
    "INSERT INTO group_days VALUES(5, 0, 2);"
    "INSERT INTO reports VALUES(7, '00000000-0000-7000-8000-000000000001', 1, 5, 1000,"
    " 1001, 11, 'SIGSEGV', 'SIGSEGV in old', 'Read', '1.0', 'test', '/bin/p', 'h'),"
    "(8, '00000000-0000-7000-8000-000000000002', 1, 5, 2000,"
    " 2001, 11, 'SIGSEGV', 'SIGSEGV in old', 'Read', '1.0', 'live', '/bin/p', 'h');"
    "INSERT INTO tags VALUES(7, 'zone', 'north');"
    "INSERT INTO bodies VALUES(7, 0, 'first'), (8, 0, 'second');";

static bool run_scripts(const char *name, const char *first, const char *second)
{
    char error[SQL_ERROR_SIZE];
    struct sql *sql = NULL;
    struct sql_options options = { .name = name };
    if (sql_open(&options, error, &sql) != CH_OK)
        return false;
    bool done = sql_script(sql, first) == CH_OK && sql_script(sql, second) == CH_OK;
    sql_close(sql);
    return done;
}

static void an_old_database_is_opened_with_everything_in_it(void **state)
{
    struct fixture *fixture = *state;
    assert_true(run_scripts(fixture->name, first_layout, first_rows));
    assert_true(open_store(fixture));

    struct seen body = { 0 };
    assert_int_equal(store_find_report(fixture->store,
                                       "00000000-0000-7000-8000-000000000002", see_body,
                                       &body),
                     CH_OK);
    assert_string_equal(body.body, "second");
    struct seen seen = find_group(fixture, "aaaaaaaa");
    assert_int_equal(seen.group.count, 2);
    assert_int_equal(seen.group.kept, 2);
    assert_int_equal(seen.group.release_counts[0], 2);
    assert_string_equal(seen.release[0], "1.0");
    assert_int_equal(seen.group.machines, 1);
    const struct store_filter filters[] = {
        where(STORE_KEY_WORD, "in old"),
        where(STORE_KEY_ENVIRONMENT, "live"),
        where(STORE_KEY_HOST, "h"),
        where(STORE_KEY_PROGRAM, "p"),
        where(STORE_KEY_WORD, "bin/p"),
        where(STORE_KEY_FIRST_RELEASE, "1.0"),
        { .terms = { { .key = STORE_KEY_SIGNAL, .number = 11 } }, .term_count = 1 },
        { .terms = { { .key = STORE_KEY_TAG, .tag = "zone", .value = "north" } },
          .term_count = 1 },
    };
    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++)
        assert_string_equal(list_groups(fixture, filters[i]).ids, "a");
}

static void an_old_database_goes_on_as_a_new_one(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    assert_true(run_scripts(fixture->name, first_layout, first_rows));
    assert_true(open_store(fixture));
    assert_int_equal(add_new(fixture, 2, "aaaaaaaa", 0), STORE_KEPT);
    assert_int_equal(add_new(fixture, 3, "bbbbbbbb", 0), STORE_ADDED);
    assert_int_equal(store_merge(fixture->store, "aaaaaaaa", "bbbbbbbb", error), CH_OK);
    assert_int_equal(find_group(fixture, "bbbbbbbb").group.count, 3);
    assert_int_equal(store_split(fixture->store, "aaaaaaaa", error), CH_OK);
    assert_int_equal(find_group(fixture, "aaaaaaaa").group.count, 2);
    store_close(fixture->store);
    fixture->store = NULL;
    assert_true(open_store(fixture));
    assert_int_equal(find_group(fixture, "aaaaaaaa").group.count, 2);
}

static void a_database_of_a_newer_program_is_refused(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE] = "";
    assert_true(run_scripts(fixture->name, first_layout, "PRAGMA user_version = 99"));
    assert_int_equal(store_open(fixture->name, error, &fixture->store), CH_ERR_IO);
    assert_non_null(strstr(error, "layout 99"));
}

static void a_step_that_fails_leaves_the_old_database(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE] = "";
    assert_true(run_scripts(fixture->name, first_layout,
                            "CREATE TABLE facets(in_the_way INTEGER)"));
    assert_int_equal(store_open(fixture->name, error, &fixture->store), CH_ERR_IO);
    assert_non_null(strstr(error, "facets"));
    assert_true(run_scripts(fixture->name, "DROP TABLE facets", first_rows));
    assert_true(open_store(fixture));
    assert_int_equal(find_group(fixture, "aaaaaaaa").group.count, 2);
}

#define OLD_TEST(test) cmocka_unit_test_setup_teardown(test, setup_named, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OLD_TEST(an_old_database_is_opened_with_everything_in_it),
        OLD_TEST(an_old_database_goes_on_as_a_new_one),
        OLD_TEST(a_database_of_a_newer_program_is_refused),
        OLD_TEST(a_step_that_fails_leaves_the_old_database),
    };
    return cmocka_run_group_tests_name("collector/store_schema", tests, NULL, NULL);
}
