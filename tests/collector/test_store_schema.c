// SPDX-License-Identifier: Apache-2.0
//
// Databases that this program cannot use: test_upgrade.py opens those that it upgrades.
#include "collector/store_fixture.h"

static bool run_script(const char *name, const char *script)
{
    char error[SQL_ERROR_SIZE];
    struct sql *sql = NULL;
    struct sql_options options = { .name = name };
    if (sql_open(&options, error, &sql) != CH_OK)
        return false;
    bool done = sql_script(sql, script) == CH_OK;
    sql_close(sql);
    return done;
}

static void check_refused(struct fixture *fixture, const char *script, const char *why)
{
    char error[STORE_ERROR_SIZE] = "";
    assert_true(run_script(fixture->name, script));
    assert_int_equal(store_open(fixture->name, error, &fixture->store), CH_ERR_IO);
    assert_non_null(strstr(error, why));
    assert_null(strchr(error, '\n'));
}

static void a_database_of_a_newer_program_is_refused(void **state)
{
    check_refused(*state, "PRAGMA user_version = 99", "layout 99");
}

static void a_database_that_is_too_old_is_refused(void **state)
{
    check_refused(*state, "PRAGMA user_version = 17", "layout 17");
}

static void an_upgrade_that_fails_leaves_the_old_database(void **state)
{
    struct fixture *fixture = *state;
    check_refused(fixture,
                  "CREATE TABLE symbols(build, project); CREATE TABLE symbol_files(key,"
                  " project); CREATE TABLE place_names(in_the_way);"
                  "INSERT INTO symbols VALUES('aa', 'shop');"
                  "PRAGMA user_version = 18",
                  "place_names");
    // It is still of layout 18, and no row was changed.
    assert_true(run_script(fixture->name,
                           "DROP TABLE place_names;"
                           "CREATE TEMPORARY TABLE t(x CHECK(x));"
                           "INSERT INTO t SELECT build = 'aa' FROM symbols"));
    check_refused(fixture, "SELECT 1", "places");
}

#define OLD_TEST(test) cmocka_unit_test_setup_teardown(test, setup_named, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OLD_TEST(a_database_of_a_newer_program_is_refused),
        OLD_TEST(a_database_that_is_too_old_is_refused),
        OLD_TEST(an_upgrade_that_fails_leaves_the_old_database),
    };
    return cmocka_run_group_tests_name("collector/store_schema", tests, NULL, NULL);
}
