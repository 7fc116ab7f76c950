// SPDX-License-Identifier: Apache-2.0
#include "collector/database/sqlite_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/file.h"
#include "collector/database/sqlite_changes.h"
#include "collector/database/sqlite_log.h"

enum {
    RUN_BYTES = 1 << 20,  // that are copied at once
    STEP_BYTES = 8 << 20, // in a step
    LITTLE = 2048,        // pages that may be copied while commits wait
    PASSES_MOST = 12,     // then what is left is copied so, however much it is
};

struct sqlite_copy {
    struct sqlite_log *log;
    struct sqlite_changes *changes;
    sqlite3 *db;        // by whose descriptor the file is read: to close another one
    sqlite3_file *from; // of this process would give up SQLite's locks
    int to;
    uint32_t page_bytes;
    uint64_t all; // bytes of the file
    struct page_set left;
    size_t word; // of left, where this pass is
    int passes;
    char *bytes; // RUN_BYTES
};

static enum ch_status fail_copy(const char *why, char error[SQL_ERROR_SIZE])
{
    (void)snprintf(error, SQL_ERROR_SIZE, "%s", why);
    return CH_ERR_IO;
}

static int take_page_bytes(void *context, int count, char **values, char **names)
{
    struct sqlite_copy *copy = context;
    (void)names;
    if (count == 1 && values[0] != NULL)
        copy->page_bytes = (uint32_t)strtoul(values[0], NULL, 10);
    return 0;
}

// measure_source learns how large the file is; it may have less than the database,
// whose newest pages are in the log.
static int measure_source(struct sqlite_copy *copy)
{
    sqlite3_int64 size = 0;
    int result = copy->from->pMethods->xFileSize(copy->from, &size);
    copy->all = (uint64_t)size;
    return result;
}

// open_original opens the file by a connection that reads from it once, and so keeps it
// open.
static enum ch_status open_original(struct sqlite_copy *copy, const char *path,
                                    char error[SQL_ERROR_SIZE])
{
    int result = sqlite3_open_v2(path, &copy->db,
                                 SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_exec(copy->db, "PRAGMA user_version; PRAGMA page_size",
                              take_page_bytes, copy, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_file_control(copy->db, "main", SQLITE_FCNTL_FILE_POINTER,
                                      &copy->from);
    if (result == SQLITE_OK)
        result = measure_source(copy);
    return result == SQLITE_OK ? CH_OK : fail_copy(sqlite3_errstr(result), error);
}

// want_all begins the first pass, over the whole file.
static enum ch_status want_all(struct sqlite_copy *copy, char error[SQL_ERROR_SIZE])
{
    for (uint64_t page = copy->all / copy->page_bytes; page > 0; page--) {
        if (page > PAGE_SET_MOST || !page_set_add(&copy->left, (uint32_t)page))
            return fail_copy("out of memory, or the file is too large", error);
    }
    copy->bytes = malloc(RUN_BYTES);
    return copy->bytes != NULL ? CH_OK : fail_copy("out of memory", error);
}

static enum ch_status follow_log(struct sqlite_copy *copy, const char *path,
                                 char error[SQL_ERROR_SIZE])
{
    if (sqlite_changes_create(sqlite3_filename_wal(path), copy->page_bytes,
                              &copy->changes) != CH_OK)
        return fail_copy("its log cannot be read", error);
    sqlite_log_follow(copy->log, copy->changes);
    return CH_OK;
}

enum ch_status sqlite_copy_begin(struct sql *from, const char *path,
                                 char error[SQL_ERROR_SIZE], struct sqlite_copy **out)
{
    const char *source = NULL;
    *out = NULL;
    struct sqlite_copy *copy = calloc(1, sizeof(*copy));
    if (copy == NULL)
        return fail_copy("out of memory", error);
    copy->log = sql_sqlite_log(from, &source);
    (void)unlink(path);
    copy->to = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    enum ch_status status = copy->to >= 0 ? CH_OK : fail_copy(strerror(errno), error);
    if (status == CH_OK)
        status = open_original(copy, source, error);
    if (status == CH_OK)
        status = want_all(copy, error);
    if (status == CH_OK)
        status = follow_log(copy, source, error);
    if (status != CH_OK) {
        sqlite_copy_end(copy);
        return status;
    }
    *out = copy;
    return CH_OK;
}

// copy_run copies pages without a gap.
static enum ch_status copy_run(struct sqlite_copy *copy, struct page_run run,
                               char error[SQL_ERROR_SIZE])
{
    size_t size = (size_t)run.count * copy->page_bytes;
    off_t offset = (off_t)((uint64_t)(run.first - 1) * copy->page_bytes);
    int result =
        copy->from->pMethods->xRead(copy->from, copy->bytes, (int)size, offset);
    if (result != SQLITE_OK)
        return fail_copy(sqlite3_errstr(result), error);
    ssize_t written = pwrite(copy->to, copy->bytes, size, offset);
    if (written < 0)
        return fail_copy(strerror(errno), error);
    return written == (ssize_t)size ? CH_OK : fail_copy("no room is left", error);
}

enum ch_status sqlite_copy_step(struct sqlite_copy *copy, struct sqlite_copy_sizes *out,
                                char error[SQL_ERROR_SIZE])
{
    uint32_t most = RUN_BYTES / copy->page_bytes;
    enum ch_status status = CH_OK;
    uint64_t copied = 0;
    while (status == CH_OK && copied < STEP_BYTES) {
        struct page_run run = page_set_take(&copy->left, &copy->word, most);
        status = run.count != 0 ? copy_run(copy, run, error) : CH_END;
        copied += (uint64_t)run.count * copy->page_bytes;
    }
    *out = (struct sqlite_copy_sizes){ copy->all, copy->left.count * copy->page_bytes };
    return status;
}

// finish_copy copies what is left, and what is only in the log.
static enum ch_status finish_copy(struct sqlite_copy *copy, char error[SQL_ERROR_SIZE])
{
    struct sqlite_copy_sizes sizes;
    uint32_t pages = 0;
    enum ch_status status = CH_OK;
    while (status == CH_OK)
        status = sqlite_copy_step(copy, &sizes, error);
    if (status != CH_END)
        return status;
    if (sqlite_changes_replay(copy->changes, copy->to, &pages) != CH_OK)
        return fail_copy("its log cannot be copied", error);
    if (pages != 0)
        copy->all = (uint64_t)pages * copy->page_bytes;
    else if (measure_source(copy) != SQLITE_OK)
        return fail_copy("its size cannot be read", error);
    return ftruncate(copy->to, (off_t)copy->all) == 0
               ? CH_END
               : fail_copy(strerror(errno), error);
}

enum ch_status sqlite_copy_turn(struct sqlite_copy *copy, char error[SQL_ERROR_SIZE])
{
    copy->word = 0;
    if (sqlite_changes_take(copy->changes, &copy->left) != CH_OK)
        return fail_copy("its log cannot be followed", error);
    copy->passes++;
    if (copy->left.count > LITTLE && copy->passes < PASSES_MOST)
        return CH_OK;
    return finish_copy(copy, error);
}

enum ch_status sqlite_copy_sync(struct sqlite_copy *copy, char error[SQL_ERROR_SIZE])
{
    return fdatasync(copy->to) == 0 ? CH_OK : fail_copy(strerror(errno), error);
}

void sqlite_copy_end(struct sqlite_copy *copy)
{
    if (copy == NULL)
        return;
    sqlite_log_follow(copy->log, NULL);
    sqlite_changes_destroy(copy->changes);
    page_set_deinit(&copy->left);
    sqlite3_close(copy->db);
    file_close(&copy->to);
    free(copy->bytes);
    free(copy);
}
