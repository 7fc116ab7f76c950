// SPDX-License-Identifier: Apache-2.0
//
// A backup of a SQLite store stands at its place once it is whole, and not before.
#include "collector/store/store_backup.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/store/store_internal.h"
#include "collector/store_fixture.h"
#include "support/empty_log.h"

enum {
    BALLAST_BYTES = 40 << 20, // some steps of a copy
    STEPS_MOST = 1000,
};

// copy_path is where the backup of a test is to stand; it lives until the next call.
static const char *copy_path(const struct fixture *fixture)
{
    static char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s", folder_path(fixture->folder, "copy.db"));
    return path;
}

static bool exists(const struct fixture *fixture, const char *name)
{
    return access(folder_path(fixture->folder, name), F_OK) == 0;
}

// fill_store makes the store so large that a copy takes several steps.
static bool fill_store(const struct fixture *fixture)
{
    char script[128];
    (void)snprintf(script, sizeof(script),
                   "CREATE TABLE ballast(x BLOB); INSERT INTO ballast"
                   " VALUES(zeroblob(%d))",
                   BALLAST_BYTES);
    return sql_script(fixture->store->writer, script) == CH_OK &&
           empty_log(fixture->store->writer);
}

static void a_backup_stands_at_its_place_once_it_is_whole(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    struct store_backup *backup = NULL;
    struct store_backup_progress progress;
    enum ch_status status = CH_OK;
    int steps = 0;
    assert_true(fill_store(fixture));
    assert_int_equal(
        store_backup_begin(fixture->store, copy_path(fixture), error, &backup), CH_OK);
    for (; status == CH_OK && steps < STEPS_MOST; steps++) {
        assert_false(exists(fixture, "copy.db"));
        assert_true(exists(fixture, "copy.db.part"));
        status = store_backup_step(backup, &progress, error);
    }
    store_backup_end(backup);
    assert_int_equal(status, CH_END);
    assert_true(steps > 4);
    assert_int_equal(progress.left, 0);
    assert_true(progress.bytes > BALLAST_BYTES);
    assert_false(exists(fixture, "copy.db.part"));
    assert_true(exists(fixture, "copy.db"));
}

static void a_copy_that_is_given_up_leaves_the_one_before(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    struct store_backup *backup = NULL;
    struct store_backup_progress progress;
    FILE *before = fopen(copy_path(fixture), "w");
    assert_non_null(before);
    assert_int_equal(fclose(before), 0);
    assert_true(fill_store(fixture));
    assert_int_equal(
        store_backup_begin(fixture->store, copy_path(fixture), error, &backup), CH_OK);
    enum ch_status status = store_backup_step(backup, &progress, error);
    bool under_way = exists(fixture, "copy.db.part");
    store_backup_end(backup);
    struct stat file = { .st_size = -1 };
    assert_int_equal(status, CH_OK);
    assert_true(under_way);
    assert_false(exists(fixture, "copy.db.part"));
    assert_int_equal(stat(copy_path(fixture), &file), 0);
    assert_int_equal(file.st_size, 0);
}

static void a_copy_for_which_there_is_no_room_fails_and_no_report_does(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE] = "";
    struct store_backup *backup = NULL;
    struct store_backup_progress progress;
    struct rlimit before;
    assert_true(fill_store(fixture));
    assert_int_equal(
        store_backup_begin(fixture->store, copy_path(fixture), error, &backup), CH_OK);
    (void)signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    const struct rlimit small = { BALLAST_BYTES / 2, before.rlim_max };
    setrlimit(RLIMIT_FSIZE, &small);
    enum ch_status status = CH_OK;
    for (int i = 0; status == CH_OK && i < STEPS_MOST; i++)
        status = store_backup_step(backup, &progress, error);
    setrlimit(RLIMIT_FSIZE, &before);
    store_backup_end(backup);
    assert_int_equal(status, CH_ERR_IO);
    assert_non_null(strstr(error, "cannot back up the store to"));
    assert_false(exists(fixture, "copy.db"));
    assert_false(exists(fixture, "copy.db.part"));
    assert_int_equal(add_new(fixture, 1, "group", 0), STORE_ADDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_backup_stands_at_its_place_once_it_is_whole,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_copy_that_is_given_up_leaves_the_one_before,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_copy_for_which_there_is_no_room_fails_and_no_report_does, setup,
            teardown),
    };
    return cmocka_run_group_tests_name("collector/store_backup", tests, NULL, NULL);
}
