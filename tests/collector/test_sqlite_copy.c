// SPDX-License-Identifier: Apache-2.0
//
// A SQLite file is copied while it is written to, and the copy is whole.
#include "collector/database/sqlite_copy.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/file.h"
#include "collector/database/sqlite_changes.h"
#include "support/empty_log.h"
#include "support/folder.h"
#include "support/test.h"

enum {
    LOG_PAGES = 64, // from how many on a log is long
    ROWS = 3000,
    ROW_BYTES = 20000,
    CHANGED_ROWS = 100, // in a step
    STEPS_MOST = 1000,
};

struct copy_fixture {
    struct folder *folder;
    struct sql *writer;
    unsigned seed;
};

static struct sql *open_at(const char *path)
{
    char name[300];
    char error[SQL_ERROR_SIZE];
    struct sql *sql = NULL;
    struct sql_options options = { .name = name, .log_pages = LOG_PAGES };
    (void)snprintf(name, sizeof(name), "sqlite:%s", path);
    if (sql_open(&options, error, &sql) != CH_OK)
        print_error("%s\n", error);
    return sql;
}

static int64_t ask_number(struct sql *sql, const char *question)
{
    int64_t answer = -1;
    return sql_query(sql, question, NULL, 0, sql_take_number, &answer) == CH_OK ? answer
                                                                                : -1;
}

static int setup_copy(void **state)
{
    struct copy_fixture *fixture = calloc(1, sizeof(*fixture));
    void *folder = NULL;
    if (fixture == NULL || folder_setup(&folder) != 0)
        return -1;
    fixture->folder = folder;
    fixture->seed = 1;
    *state = fixture;
    fixture->writer = open_at(folder_path(folder, "store.db"));
    char script[200];
    (void)snprintf(script, sizeof(script),
                   "CREATE TABLE t(n INTEGER PRIMARY KEY, x BLOB);"
                   "INSERT INTO t WITH r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r"
                   " WHERE n < %d) SELECT n, zeroblob(%d) FROM r",
                   ROWS, ROW_BYTES);
    return fixture->writer != NULL && sql_script(fixture->writer, script) == CH_OK &&
                   empty_log(fixture->writer)
               ? 0
               : -1;
}

static int teardown_copy(void **state)
{
    struct copy_fixture *fixture = *state;
    void *folder = fixture->folder;
    sql_close(fixture->writer);
    free(fixture);
    return folder_teardown(&folder);
}

// change_row writes other bytes into a row, makes one, or removes one.
static bool change_row(struct copy_fixture *fixture)
{
    char script[120];
    unsigned row = (unsigned)rand_r(&fixture->seed) % (2 * ROWS);
    if (rand_r(&fixture->seed) % 4 == 0)
        (void)snprintf(script, sizeof(script), "DELETE FROM t WHERE n = %u", row);
    else
        (void)snprintf(script, sizeof(script),
                       "INSERT OR REPLACE INTO t VALUES(%u, randomblob(%d))", row,
                       ROW_BYTES);
    return sql_script(fixture->writer, script) == CH_OK;
}

// change_rows changes that many in one transaction.
static bool change_rows(struct copy_fixture *fixture, int count)
{
    bool ok = sql_script(fixture->writer, "BEGIN") == CH_OK;
    for (int i = 0; i < count && ok; i++)
        ok = change_row(fixture);
    return ok && sql_script(fixture->writer, "COMMIT") == CH_OK;
}

// log_is_anew commits, which a log that a thread has copied into the file begins anew
// with, and returns whether it did.
static bool log_is_anew(struct copy_fixture *fixture, bool *out_anew)
{
    enum { SALTS = 16, SALTS_BYTES = 8 }; // in its header
    char before[SALTS_BYTES];
    char after[SALTS_BYTES];
    int log = open(folder_path(fixture->folder, "store.db-wal"), O_RDONLY | O_CLOEXEC);
    bool ok = log >= 0 &&
              file_read_at(log, before, SALTS_BYTES, SALTS) == SALTS_BYTES &&
              sql_script(fixture->writer, "REPLACE INTO t VALUES(0, '')") == CH_OK &&
              file_read_at(log, after, SALTS_BYTES, SALTS) == SALTS_BYTES;
    *out_anew = ok && memcmp(before, after, SALTS_BYTES) != 0;
    (void)close(log);
    return ok;
}

// begin_log_anew commits until the thread has had its turn.
static bool begin_log_anew(struct copy_fixture *fixture)
{
    enum { TRIES = 60000 };
    bool ok = true;
    bool anew = false;
    for (int i = 0; i < TRIES && ok && !anew; i++) {
        ok = log_is_anew(fixture, &anew);
        if (!anew)
            usleep(1000);
    }
    return ok && anew;
}

// copy_while copies the database while that many rows change between two steps and the
// log begins anew, and gives the steps it took; -1: it failed.
static int copy_while(struct copy_fixture *fixture, int changes, int *out_turns)
{
    char error[SQL_ERROR_SIZE] = "";
    struct sqlite_copy *copy = NULL;
    struct sqlite_copy_sizes sizes;
    int steps = 0;
    enum ch_status status = sqlite_copy_begin(
        fixture->writer, folder_path(fixture->folder, "copy.db"), error, &copy);
    *out_turns = 0;
    while (status == CH_OK && steps++ < STEPS_MOST) {
        if (changes != 0 &&
            (!change_rows(fixture, changes) || !begin_log_anew(fixture)))
            break;
        status = sqlite_copy_step(copy, &sizes, error);
        if (status != CH_END)
            continue;
        ++*out_turns;
        status = sqlite_copy_turn(copy, error);
    }
    sqlite_copy_end(copy);
    if (status != CH_END)
        print_error("copy: %s\n", error);
    return status == CH_END ? steps : -1;
}

// count_differences counts what only one of source and copy has, and what is wrong with
// the copy; 0: it is the same.
static int64_t count_differences(const struct copy_fixture *fixture)
{
    char script[300];
    struct sql *copy = open_at(folder_path(fixture->folder, "copy.db"));
    (void)snprintf(script, sizeof(script), "ATTACH '%s' AS source",
                   folder_path(fixture->folder, "store.db"));
    int64_t count = -1;
    if (copy != NULL && sql_script(copy, script) == CH_OK)
        count = ask_number(copy, "SELECT (SELECT count(*) FROM (SELECT * FROM source.t"
                                 " EXCEPT SELECT * FROM main.t))"
                                 " + (SELECT count(*) FROM (SELECT * FROM main.t"
                                 " EXCEPT SELECT * FROM source.t))"
                                 " + (SELECT count(*) FROM pragma_integrity_check WHERE"
                                 " integrity_check <> 'ok')");
    sql_close(copy);
    return count;
}

static void a_copy_has_what_was_committed_while_it_was_made(void **state)
{
    struct copy_fixture *fixture = *state;
    int turns = 0;
    int steps = copy_while(fixture, CHANGED_ROWS, &turns);
    print_message("seed 1, %d steps, %d passes\n", steps, turns);
    assert_true(steps > 7); // 60 MB, 8 a step
    assert_true(turns > 1); // what changed meanwhile was copied again
    assert_true(ask_number(fixture->writer, "SELECT count(*) FROM t") > 0);
    assert_int_equal(count_differences(fixture), 0);
    assert_true(change_rows(fixture, 20));
    assert_true(count_differences(fixture) > 0);
}

static void a_copy_of_a_file_at_rest_is_made_in_one_pass(void **state)
{
    struct copy_fixture *fixture = *state;
    int turns = 0;
    assert_true(copy_while(fixture, 0, &turns) > 0);
    assert_int_equal(turns, 1);
    assert_int_equal(count_differences(fixture), 0);
}

static void a_copy_is_whole_where_somebody_empties_the_log(void **state)
{
    struct copy_fixture *fixture = *state;
    char error[SQL_ERROR_SIZE] = "";
    struct sqlite_copy *copy = NULL;
    struct sqlite_copy_sizes sizes;
    assert_true(change_rows(fixture, 20));
    enum ch_status status = sqlite_copy_begin(
        fixture->writer, folder_path(fixture->folder, "copy.db"), error, &copy);
    bool ok = true;
    for (int i = 0; status == CH_OK && ok && i < STEPS_MOST; i++) {
        ok = change_rows(fixture, 20) && empty_log(fixture->writer);
        status = sqlite_copy_step(copy, &sizes, error);
        if (status == CH_END)
            status = sqlite_copy_turn(copy, error);
    }
    sqlite_copy_end(copy);
    assert_true(ok);
    assert_int_equal(status, CH_END);
    assert_int_equal(count_differences(fixture), 0);
}

static void a_copy_has_what_an_earlier_process_left_in_the_log(void **state)
{
    struct copy_fixture *fixture = *state;
    int turns = 0;
    assert_true(change_rows(fixture, 10));
    // Another connection keeps the log when the writer ends.
    struct sql *other = open_at(folder_path(fixture->folder, "store.db"));
    bool kept = other != NULL && sql_script(other, "BEGIN") == CH_OK &&
                ask_number(other, "SELECT count(*) FROM t") > 0 &&
                change_rows(fixture, 10);
    sql_close(fixture->writer);
    fixture->writer = open_at(folder_path(fixture->folder, "store.db"));
    int steps = fixture->writer != NULL ? copy_while(fixture, 0, &turns) : -1;
    sql_close(other);
    assert_true(kept);
    assert_true(steps > 0);
    assert_int_equal(count_differences(fixture), 0);
}

// note_log finds out how following a log ends that was cut after size bytes; its pages
// are written to a file, of which out gets the size in pages.
static enum ch_status note_log(const struct copy_fixture *fixture, const char *bytes,
                               size_t size, uint32_t frames, uint32_t *out)
{
    const char *path = folder_path(fixture->folder, "cut-wal");
    struct sqlite_changes *changes = NULL;
    struct page_set pages = { 0 };
    int to = open(folder_path(fixture->folder, "cut.db"), O_RDWR | O_CREAT, 0600);
    FILE *log = fopen(path, "w");
    bool made = log != NULL && fwrite(bytes, 1, size, log) == size && fclose(log) == 0;
    enum ch_status status =
        made ? sqlite_changes_create(path, 4096, &changes) : CH_ERR_IO;
    if (status == CH_OK) {
        sqlite_changes_note(changes, frames);
        status = sqlite_changes_take(changes, &pages);
    }
    if (status == CH_OK)
        status = sqlite_changes_replay(changes, to, out);
    sqlite_changes_destroy(changes);
    page_set_deinit(&pages);
    (void)close(to);
    return status;
}

static void a_log_that_is_cut_or_of_another_time_is_refused(void **state)
{
    enum { FRAME = 24 + 4096, FRAMES = 2, SIZE = 32 + FRAMES * FRAME };
    struct copy_fixture *fixture = *state;
    static char log[SIZE + 1];
    uint32_t pages = 0;
    assert_true(empty_log(fixture->writer));
    assert_true(sql_script(fixture->writer, "CREATE TABLE two(x)") == CH_OK);
    assert_true(folder_read(fixture->folder, "store.db-wal", log, sizeof(log)) == SIZE);
    assert_int_equal(note_log(fixture, log, SIZE, FRAMES, &pages), CH_OK);
    assert_true(pages > ROWS);
    for (size_t size = 1; size < SIZE; size += size < 2 * FRAME ? 1 : 97)
        assert_int_not_equal(note_log(fixture, log, size, FRAMES, &pages), CH_OK);
    assert_int_equal(note_log(fixture, log, 0, FRAMES, &pages), CH_OK); // emptied
    assert_int_equal(pages, 0);
    assert_int_not_equal(note_log(fixture, log, SIZE, FRAMES + 1, &pages), CH_OK);
    log[32 + 8] ^= 1; // a salt of the first frame
    assert_int_not_equal(note_log(fixture, log, SIZE, FRAMES, &pages), CH_OK);
    log[32 + 8] ^= 1;
    memset(log + 32, 0xff, 4); // page 4294967295
    assert_int_not_equal(note_log(fixture, log, SIZE, FRAMES, &pages), CH_OK);
    memset(log + 32, 0, 4); // page 0
    assert_int_not_equal(note_log(fixture, log, SIZE, FRAMES, &pages), CH_OK);
}

static void pages_are_taken_in_runs(void **state)
{
    (void)state;
    struct page_set set = { 0 };
    struct page_set all = { 0 };
    static const uint32_t pages[] = { 1, 2, 3, 63, 64, 65, 1000000, PAGE_SET_MOST };
    static const struct page_run runs[] = {
        { 1, 2 }, { 3, 1 }, { 63, 2 }, { 65, 1 }, { 1000000, 1 }, { PAGE_SET_MOST, 1 },
    };
    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
        assert_true(page_set_add(&set, pages[i]) && page_set_add(&set, pages[i]));
    assert_false(page_set_add(&set, PAGE_SET_MOST + 1));
    assert_true(page_set_add(&all, 2));
    assert_true(page_set_move(&set, &all));
    assert_int_equal(set.count, 0);
    assert_int_equal(all.count, 8);
    assert_true(page_set_has(&all, 64) && !page_set_has(&all, 62));
    size_t word = 0;
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        struct page_run run = page_set_take(&all, &word, 2);
        assert_int_equal(run.first, runs[i].first);
        assert_int_equal(run.count, runs[i].count);
    }
    assert_int_equal(page_set_take(&all, &word, 2).count, 0);
    assert_int_equal(all.count, 0);
    page_set_deinit(&set);
    page_set_deinit(&all);
}

#define COPY_TEST(name) cmocka_unit_test_setup_teardown(name, setup_copy, teardown_copy)

int main(void)
{
    const struct CMUnitTest tests[] = {
        COPY_TEST(a_copy_has_what_was_committed_while_it_was_made),
        COPY_TEST(a_copy_of_a_file_at_rest_is_made_in_one_pass),
        COPY_TEST(a_copy_is_whole_where_somebody_empties_the_log),
        COPY_TEST(a_copy_has_what_an_earlier_process_left_in_the_log),
        COPY_TEST(a_log_that_is_cut_or_of_another_time_is_refused),
        cmocka_unit_test(pages_are_taken_in_runs),
    };
    return cmocka_run_group_tests_name("collector/sqlite_copy", tests, NULL, NULL);
}
