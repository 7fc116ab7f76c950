// SPDX-License-Identifier: Apache-2.0
#include "collector/database/sqlite_log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/system/own_thread.h"
#include "collector/database/sqlite_changes.h"

enum {
    BUSY_TIMEOUT_MS = 10000,
    // Each pass copies what came during the one before, until that is a small part of a
    // long log, or it is clear that the log grows faster.
    PASSES_MOST = 10,
    SMALL_PART = 4,
};

struct sqlite_log {
    sqlite3 *db; // the thread's connection
    int pages;
    int frames;                     // in the log after the last commit
    struct sqlite_changes *changes; // NULL: nobody follows
    pthread_t thread;
    bool started;
    atomic_bool copied; // but for a little

    pthread_mutex_t lock; // guards what follows
    pthread_cond_t changed;
    bool wanted;
    bool stopping;
};

// log_state is what SQLite says after a copy: of pages, how many were in the log when
// it began, and how many of them are in the file now; both are -1 if it could not
// begin.
struct log_state {
    int pages;
    int copied;
};

// copy_log copies what no reader is in the way of. What fails, or is being done by the
// other thread, is done after a later commit: the log has it.
static struct log_state copy_log(sqlite3 *db)
{
    struct log_state state = { 0 };
    (void)sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, &state.pages,
                                    &state.copied);
    return state;
}

// copy_most copies until little is left, and returns whether the writer is to do the
// rest: not while a reader that stays is in the way of more than a long log.
static bool copy_most(const struct sqlite_log *log)
{
    struct log_state state = copy_log(log->db);
    int before = 0;
    for (int i = 1; i < PASSES_MOST && state.copied - before > log->pages / SMALL_PART;
         i++) {
        before = state.copied;
        state = copy_log(log->db);
    }
    return state.pages - state.copied <= log->pages;
}

// want_log_copied wakes the thread.
static void want_log_copied(struct sqlite_log *log)
{
    pthread_mutex_lock(&log->lock);
    log->wanted = true;
    pthread_cond_signal(&log->changed);
    pthread_mutex_unlock(&log->lock);
}

// note_commit is called after each commit, with the length of the log.
static int note_commit(void *context, sqlite3 *db, const char *name, int pages)
{
    struct sqlite_log *log = context;
    (void)name;
    log->frames = pages;
    if (log->changes != NULL)
        sqlite_changes_note(log->changes, (uint32_t)pages);
    if (pages < log->pages)
        return SQLITE_OK;
    if (atomic_exchange(&log->copied, false))
        copy_log(db);
    else
        want_log_copied(log);
    return SQLITE_OK;
}

static bool await_long_log(struct sqlite_log *log)
{
    pthread_mutex_lock(&log->lock);
    while (!log->wanted && !log->stopping)
        pthread_cond_wait(&log->changed, &log->lock);
    bool go_on = !log->stopping;
    log->wanted = false;
    pthread_mutex_unlock(&log->lock);
    return go_on;
}

static void *log_main(void *context)
{
    struct sqlite_log *log = context;
    while (await_long_log(log))
        log->copied = copy_most(log);
    return NULL;
}

static bool open_log(struct sqlite_log *log, const char *path)
{
    // Reading is what makes a connection know that there is a log.
    return sqlite3_open_v2(path, &log->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                           NULL) == SQLITE_OK &&
           sqlite3_busy_timeout(log->db, BUSY_TIMEOUT_MS) == SQLITE_OK &&
           sqlite3_exec(log->db, "PRAGMA synchronous = FULL; PRAGMA user_version", NULL,
                        NULL, NULL) == SQLITE_OK;
}

enum ch_status sqlite_log_create(sqlite3 *writer, const char *path, int pages,
                                 struct sqlite_log **out)
{
    struct sqlite_log *log = calloc(1, sizeof(*log));
    if (log == NULL)
        return CH_ERR_NO_MEMORY;
    log->pages = pages;
    pthread_mutex_init(&log->lock, NULL);
    pthread_cond_init(&log->changed, NULL);
    log->started = open_log(log, path) && own_thread_start(&log->thread, log_main, log);
    if (!log->started) {
        sqlite_log_destroy(log);
        return CH_ERR_IO;
    }
    // What an earlier process left in the log.
    int frames = copy_log(writer).pages;
    log->frames = frames > 0 ? frames : 0;
    sqlite3_wal_hook(writer, note_commit, log);
    *out = log;
    return CH_OK;
}

void sqlite_log_follow(struct sqlite_log *log, struct sqlite_changes *changes)
{
    log->changes = changes;
    if (changes != NULL)
        sqlite_changes_note(changes, (uint32_t)log->frames);
}

void sqlite_log_destroy(struct sqlite_log *log)
{
    if (log == NULL)
        return;
    pthread_mutex_lock(&log->lock);
    log->stopping = true;
    pthread_cond_signal(&log->changed);
    pthread_mutex_unlock(&log->lock);
    if (log->started)
        pthread_join(log->thread, NULL);
    sqlite3_close(log->db);
    pthread_cond_destroy(&log->changed);
    pthread_mutex_destroy(&log->lock);
    free(log);
}
