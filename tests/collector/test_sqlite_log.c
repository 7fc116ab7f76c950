// SPDX-License-Identifier: Apache-2.0
//
// The log of a SQLite file is copied into it, and begins anew, while reports come.
#include "collector/database/sqlite_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/database/sql.h"
#include "support/folder.h"
#include "support/test.h"

enum {
    LOG_PAGES = 32,
    ROW_BYTES = 20000,
    ROWS_MOST = 4000, // after which nothing copies the log
    ROW_MOST_BYTES = 8 * 4120,
    OVERLONG_BYTES = 64 * LOG_PAGES * 4096,
};

struct log_fixture {
    struct folder *folder;
    struct sql *writer;
    int64_t rows;
};

static const struct sql_statement statements[] = {
    { "INSERT INTO t VALUES(zeroblob(20000))", NULL },
};

static struct sql *open_logged(const struct log_fixture *fixture, bool reading)
{
    char name[256];
    char error[SQL_ERROR_SIZE];
    struct sql *sql = NULL;
    struct sql_options options = { .name = name,
                                   .statements = statements,
                                   .reading = reading,
                                   .log_pages = LOG_PAGES };
    (void)snprintf(name, sizeof(name), "sqlite:%s",
                   folder_path(fixture->folder, "store.db"));
    if (sql_open(&options, error, &sql) != CH_OK)
        print_error("%s\n", error);
    return sql;
}

static int setup_log(void **state)
{
    struct log_fixture *fixture = calloc(1, sizeof(*fixture));
    void *folder = NULL;
    if (fixture == NULL || folder_setup(&folder) != 0)
        return -1;
    fixture->folder = folder;
    *state = fixture;
    fixture->writer = open_logged(fixture, false);
    return fixture->writer != NULL &&
                   sql_script(fixture->writer, "CREATE TABLE t(x BLOB)") == CH_OK
               ? 0
               : -1;
}

static int teardown_log(void **state)
{
    struct log_fixture *fixture = *state;
    void *folder = fixture->folder;
    sql_close(fixture->writer);
    free(fixture);
    return folder_teardown(&folder);
}

static int64_t size_of(const struct log_fixture *fixture, const char *name)
{
    struct stat file;
    return stat(folder_path(fixture->folder, name), &file) == 0 ? file.st_size : -1;
}

static bool add_row(struct log_fixture *fixture)
{
    sql_queue(fixture->writer, 0, NULL, 0, NULL, NULL);
    fixture->rows++;
    return sql_flush(fixture->writer) == CH_OK;
}

// fill_until_anew commits rows until one is written where the log has room already: a
// log that goes on is longer after each.
static bool fill_until_anew(struct log_fixture *fixture)
{
    int64_t before;
    do {
        before = size_of(fixture, "store.db-wal");
        if (fixture->rows == ROWS_MOST || !add_row(fixture))
            return false;
    } while (size_of(fixture, "store.db-wal") != before);
    return true;
}

static int64_t count_rows(struct sql *sql)
{
    int64_t count = -1;
    return sql_query(sql, "SELECT count(*) FROM t", NULL, 0, sql_take_number, &count) ==
                   CH_OK
               ? count
               : -1;
}

static void a_long_log_begins_anew_while_rows_are_written(void **state)
{
    struct log_fixture *fixture = *state;
    assert_true(fill_until_anew(fixture));
    assert_true(fixture->rows * 8 >= LOG_PAGES); // a row has at most eight pages
    assert_true(size_of(fixture, "store.db") >= (fixture->rows - 1) * ROW_BYTES);
    assert_int_equal(count_rows(fixture->writer), fixture->rows);
}

static void a_log_that_somebody_reads_grows_and_begins_anew_afterwards(void **state)
{
    struct log_fixture *fixture = *state;
    struct sql *reader = open_logged(fixture, true);
    assert_true(add_row(fixture));
    bool reads = sql_script(reader, "BEGIN") == CH_OK && count_rows(reader) == 1;
    bool grew = true;
    for (int i = 0; i < 8 * LOG_PAGES / 5 && grew; i++) {
        int64_t before = size_of(fixture, "store.db-wal");
        grew = add_row(fixture) && size_of(fixture, "store.db-wal") > before;
    }
    bool same = count_rows(reader) == 1;
    bool ended = sql_script(reader, "COMMIT") == CH_OK;
    bool anew = fill_until_anew(fixture);
    int64_t seen = count_rows(reader);
    sql_close(reader);
    assert_true(reads && grew && same && ended && anew);
    assert_int_equal(seen, fixture->rows);
}

// written_here is how many bytes this thread has written to files; -1: it is not told.
static int64_t written_here(void)
{
    long long written = -1;
    char line[64];
    FILE *file = fopen("/proc/thread-self/io", "r");
    while (file != NULL && written == -1 && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "wchar: ", strlen("wchar: ")) == 0)
            written = strtoll(line + strlen("wchar: "), NULL, 10);
    }
    if (file != NULL)
        (void)fclose(file);
    return written;
}

static void what_a_reader_was_in_the_way_of_is_not_copied_by_the_writer(void **state)
{
    struct log_fixture *fixture = *state;
    struct sql *reader = open_logged(fixture, true);
    bool right = add_row(fixture) && sql_script(reader, "BEGIN") == CH_OK &&
                 count_rows(reader) == 1;
    while (right && size_of(fixture, "store.db-wal") < OVERLONG_BYTES)
        right = add_row(fixture);
    right = right && sql_script(reader, "COMMIT") == CH_OK;
    int64_t rows = fixture->rows;
    int64_t before = written_here();
    right = right && fill_until_anew(fixture);
    int64_t written = written_here() - before;
    int64_t added = (fixture->rows - rows) * ROW_MOST_BYTES;
    sql_close(reader);
    assert_true(right);
    assert_true(before != -1);
    // What was added since is written to the log, and at most once to the file.
    assert_true(written - 2 * added < OVERLONG_BYTES / 2);
}

static void a_file_that_is_closed_has_no_log(void **state)
{
    struct log_fixture *fixture = *state;
    for (int i = 0; i < LOG_PAGES; i++)
        assert_true(add_row(fixture));
    sql_close(fixture->writer);
    fixture->writer = NULL;
    assert_int_equal(size_of(fixture, "store.db-wal"), -1);
    fixture->writer = open_logged(fixture, false);
    assert_int_equal(count_rows(fixture->writer), fixture->rows);
}

#define LOG_TEST(test) cmocka_unit_test_setup_teardown(test, setup_log, teardown_log)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOG_TEST(a_long_log_begins_anew_while_rows_are_written),
        LOG_TEST(a_log_that_somebody_reads_grows_and_begins_anew_afterwards),
        LOG_TEST(what_a_reader_was_in_the_way_of_is_not_copied_by_the_writer),
        LOG_TEST(a_file_that_is_closed_has_no_log),
    };
    return cmocka_run_group_tests_name("collector/sqlite_log", tests, NULL, NULL);
}
