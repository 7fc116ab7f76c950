// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/database/timestamp.h"
#include "collector/entry/body_prefixes.h"
#include "collector/objects/object_store.h"
#include "collector/store/store_internal.h"
#include "collector/store/store_outage.h"
#include "collector/store/store_schema.h"

enum { LONGEST_WRITE_MS = 60000 };

static const char sqlite_prefix[] = "sqlite:";

// upgrade_layout uses a connection of its own, on which statements may take as long as
// a large database needs.
static enum ch_status upgrade_layout(const char *name, char reason[SQL_ERROR_SIZE])
{
    struct sql_options options = { .name = name };
    struct sql *sql = NULL;
    enum ch_status status = sql_open(&options, reason, &sql);
    if (status == CH_OK)
        status = store_schema_open(sql, reason);
    sql_close(sql);
    return status;
}

// lock_file keeps a second collector from a SQLite file: it would take jobs and
// sessions for its own. The lock is of the process, so children do not keep it when it
// is killed.
static enum ch_status lock_file(struct store *store, const char *path,
                                char reason[SQL_ERROR_SIZE])
{
    char name[4096];
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    if (snprintf(name, sizeof(name), "%s.lock", path) >= (int)sizeof(name)) {
        snprintf(reason, SQL_ERROR_SIZE, "its path is too long");
        return CH_ERR_IO;
    }
    store->file_lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (store->file_lock >= 0 && fcntl(store->file_lock, F_SETLK, &whole) == 0)
        return CH_OK;
    bool used = store->file_lock >= 0 && (errno == EACCES || errno == EAGAIN);
    snprintf(reason, SQL_ERROR_SIZE, "%s",
             used ? "another collector uses it" : strerror(errno));
    return CH_ERR_IO;
}

static enum ch_status open_to_read(struct store *store, const char *name,
                                   char reason[SQL_ERROR_SIZE], struct sql **out)
{
    struct sql_options options = { .name = name,
                                   .statements = store_statements,
                                   .reading = true,
                                   .query_limit_ms = STORE_QUERY_MS,
                                   .abandon = &store->given_up };
    return sql_open(&options, reason, out);
}

// open_reader opens what stands in for the writer of a store that is only read.
static enum ch_status open_reader(struct store *store, const char *name,
                                  char reason[SQL_ERROR_SIZE])
{
    enum ch_status status = open_to_read(store, name, reason, &store->writer);
    return status == CH_OK ? store_schema_check(store->writer, reason) : status;
}

static enum ch_status open_writer(struct store *store, const char *name,
                                  char reason[SQL_ERROR_SIZE])
{
    struct sql_options options = { .name = name,
                                   .statements = store_statements,
                                   .query_limit_ms = LONGEST_WRITE_MS,
                                   .abandon = &store->given_up };
    bool is_file = strncmp(name, sqlite_prefix, strlen(sqlite_prefix)) == 0;
    enum ch_status status =
        is_file ? lock_file(store, name + strlen(sqlite_prefix), reason) : CH_OK;
    if (status == CH_OK)
        status = upgrade_layout(name, reason);
    if (status == CH_OK)
        status = sql_open(&options, reason, &store->writer);
    // A SQLite file is one collector's: what is claimed was claimed before it was
    // killed.
    if (status == CH_OK && store->writer->dialect == SQL_SQLITE)
        status = sql_ask(store->writer, STORE_JOBS_FREE, NULL, 0, NULL, NULL);
    return status;
}

static enum ch_status open_readers(struct store *store, const char *name,
                                   char reason[SQL_ERROR_SIZE])
{
    while (store->idle_count < STORE_READERS) {
        enum ch_status status =
            open_to_read(store, name, reason, &store->idle[store->idle_count]);
        if (status != CH_OK)
            return status;
        store->idle_count++;
    }
    return CH_OK;
}

static enum ch_status open_store(const char *name, bool reading,
                                 char error[STORE_ERROR_SIZE], struct store **out)
{
    char reason[SQL_ERROR_SIZE] = "out of memory";
    if (!sql_name_ok(name)) {
        snprintf(error, STORE_ERROR_SIZE,
                 "cannot open store '%.100s': it is neither sqlite:PATH nor"
                 " postgresql://HOST/DATABASE",
                 name);
        return CH_ERR_UNSUPPORTED;
    }
    struct store *store = calloc(1, sizeof(*store));
    enum ch_status status = CH_ERR_NO_MEMORY;
    if (store != NULL) {
        pthread_mutex_init(&store->writing, NULL);
        pthread_mutex_init(&store->lock, NULL);
        pthread_cond_init(&store->returned, NULL);
        fetch_gate_init(&store->fetches, FETCH_GATE_PATIENCE_MS);
        store->ready_week = -1;
        store->file_lock = -1;
        store->reading = reading;
        store->list_ms = STORE_LIST_MS;
        store->prefixes = reading ? NULL : body_prefixes_create();
        store->many_reports = STORE_MANY_REPORTS;
        status = (reading ? open_reader : open_writer)(store, name, reason);
    }
    if (status == CH_OK)
        status = open_readers(store, name, reason);
    if (status != CH_OK) {
        // The URL of a database may contain a password.
        bool path = strncmp(name, sqlite_prefix, strlen(sqlite_prefix)) == 0;
        snprintf(error, STORE_ERROR_SIZE, "cannot open store '%.*s': %.140s",
                 path ? 100 : (int)strcspn(name, ":"),
                 path ? name + strlen(sqlite_prefix) : name, reason);
        store_close(store);
        return status;
    }
    *out = store;
    return CH_OK;
}

enum ch_status store_open(const char *name, char error[STORE_ERROR_SIZE],
                          struct store **out)
{
    return open_store(name, false, error, out);
}

enum ch_status store_open_reading(const char *name, char error[STORE_ERROR_SIZE],
                                  struct store **out)
{
    return open_store(name, true, error, out);
}

void store_close(struct store *store)
{
    if (store == NULL)
        return;
    for (size_t i = 0; i < store->idle_count; i++)
        sql_close(store->idle[i]);
    sql_close(store->writer);
    if (store->file_lock >= 0)
        close(store->file_lock);
    fetch_gate_deinit(&store->fetches);
    body_prefixes_destroy(store->prefixes);
    pthread_cond_destroy(&store->returned);
    text_deinit(&store->rising);
    pthread_mutex_destroy(&store->lock);
    pthread_mutex_destroy(&store->writing);
    free(store);
}

static struct sql *borrow_for(struct store *store, int64_t limit_ms)
{
    pthread_mutex_lock(&store->lock);
    while (store->idle_count == 0)
        pthread_cond_wait(&store->returned, &store->lock);
    struct sql *reader = store->idle[--store->idle_count];
    pthread_mutex_unlock(&store->lock);
    sql_limit_time(reader, timestamp_now() + limit_ms);
    return reader;
}

struct sql *store_borrow(struct store *store)
{
    return borrow_for(store, STORE_QUERY_MS);
}

struct sql *store_borrow_to_list(struct store *store)
{
    return borrow_for(store, store->list_ms);
}

void store_return(struct store *store, struct sql *reader)
{
    sql_limit_time(reader, 0);
    pthread_mutex_lock(&store->lock);
    store->idle[store->idle_count++] = reader;
    pthread_cond_signal(&store->returned);
    pthread_mutex_unlock(&store->lock);
}

void store_give_up(struct store *store)
{
    store->given_up = true;
    object_store_give_up(store->objects);
}

bool store_gave_up(const struct store *store)
{
    return store->given_up;
}

static enum ch_status do_nothing(struct sql *sql, void *context)
{
    (void)context;
    return sql_flush(sql);
}

enum ch_status store_ask(struct store *store, enum store_statement statement,
                         const struct sql_value *values, size_t count,
                         sql_row_fn *visit, void *context)
{
    struct sql *reader = store_borrow(store);
    enum ch_status status = sql_ask(reader, statement, values, count, visit, context);
    store_return(store, reader);
    return status;
}

static enum ch_status check_reading(struct store *store, char error[STORE_ERROR_SIZE])
{
    int64_t one = 0;
    struct sql *reader = store_borrow(store);
    enum ch_status status = sql_ask(reader, STORE_PING, NULL, 0, sql_take_number, &one);
    if (status != CH_OK)
        snprintf(error, STORE_ERROR_SIZE, "cannot reach the store: %.200s",
                 reader->error);
    store_return(store, reader);
    return status;
}

enum ch_status store_check(struct store *store, char error[STORE_ERROR_SIZE])
{
    struct store_job job = { .what = "reach the store", .work = do_nothing };
    if (store->reading)
        return check_reading(store, error);
    return store_transact(store, &job, error);
}

void store_list_append(struct text *list, int64_t number)
{
    text_appendf(list, "%s%lld", list->size == 0 ? " " : ",", (long long)number);
}

struct sql_value store_list_end(const struct sql *sql, struct text *list)
{
    bool json = sql->dialect == SQL_SQLITE;
    if (list->size == 0)
        text_append_string(list, " ");
    text_append_string(list, json ? "]" : "}");
    if (!text_ok(list))
        return sql_text(json ? "[]" : "{}");
    list->bytes[0] = json ? '[' : '{';
    return sql_text(list->bytes);
}

static void take_lost_facet(void *context, const struct sql_row *row)
{
    if (sql_column_number(row, "count") <= 0)
        store_list_append(context, sql_column_number(row, "number"));
}

void store_lose_facets(struct sql *sql, const struct sql_value *reports,
                       struct text *lost)
{
    sql_queue(sql, STORE_LOSE_FACETS, reports, 1, take_lost_facet, lost);
}

void store_remove_empty(struct sql *sql, const struct sql_value *groups)
{
    sql_queue(sql, STORE_REMOVE_EMPTY_GROUPS, groups, 1, NULL, NULL);
    sql_queue(sql, STORE_REMOVE_EMPTY_DAYS, groups, 1, NULL, NULL);
    sql_queue(sql, STORE_REMOVE_EMPTY_FACETS, groups, 1, NULL, NULL);
}

// attempt_job runs a job once, up to and including its commit.
static enum ch_status attempt_job(struct store *store, const struct store_job *job)
{
    struct sql *sql = store->writer;
    enum ch_status status =
        job->prepare != NULL ? job->prepare(store, job->context) : CH_OK;
    if (status != CH_OK)
        return status;
    sql_queue(sql, STORE_BEGIN, NULL, 0, NULL, NULL);
    sql_queue(sql, job->alone ? STORE_ALONE : STORE_SHARE, NULL, 0, NULL, NULL);
    status = job->work(sql, job->context);
    if (status == CH_OK) {
        sql_queue(sql, STORE_COMMIT, NULL, 0, NULL, NULL);
        status = sql_flush(sql);
    }
    return status;
}

enum ch_status store_transact(struct store *store, const struct store_job *job,
                              char error[STORE_ERROR_SIZE])
{
    enum ch_status status = CH_ERR_IO;
    bool again = true;
    if (store->reading) {
        snprintf(error, STORE_ERROR_SIZE, "cannot %s: this collector only reads",
                 job->what);
        return CH_ERR_IO;
    }
    pthread_mutex_lock(&store->writing);
    snprintf(error, STORE_ERROR_SIZE, "cannot %s: the collector stops", job->what);
    for (int i = 0; i < STORE_ATTEMPTS && again && !store->given_up; i++) {
        status = attempt_job(store, job);
        again = status != CH_OK && store->writer->transient;
        if (status == CH_OK)
            break;
        snprintf(error, STORE_ERROR_SIZE, "cannot %s: %.200s", job->what,
                 store->writer->error);
        // Without a connection the next attempt would fail at once, or wait as long.
        again = sql_rollback(store->writer) && again;
        store->ready_week = -1; // its partition may have been dropped
    }
    pthread_mutex_unlock(&store->writing);
    return status;
}

// changing is what a change consists of.
struct changing {
    const struct store_step *steps;
    size_t count;
};

static enum ch_status run_steps(struct sql *sql, void *context)
{
    const struct changing *changing = context;
    for (size_t i = 0; i < changing->count; i++) {
        const struct store_step *step = &changing->steps[i];
        if (step->done != NULL)
            *step->done = 0;
        sql_queue(sql, step->statement, step->values, step->count,
                  step->done != NULL ? sql_take_number : NULL, step->done);
    }
    return sql_flush(sql);
}

enum ch_status store_change(struct store *store, const char *what,
                            const struct store_step *steps, size_t count,
                            char error[STORE_ERROR_SIZE])
{
    struct changing changing = { steps, count };
    const struct store_job job = { .what = what,
                                   .work = run_steps,
                                   .context = &changing };
    return store_transact(store, &job, error);
}

enum ch_status store_change_alone(struct store *store, const char *what,
                                  const struct store_step *steps, size_t count,
                                  char error[STORE_ERROR_SIZE])
{
    struct changing changing = { steps, count };
    const struct store_job job = {
        .what = what, .alone = true, .work = run_steps, .context = &changing
    };
    return store_transact(store, &job, error);
}
