// SPDX-License-Identifier: Apache-2.0
#include "collector/store_sqlite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/moment.h"

enum { SCHEMA_VERSION = 1, BUSY_TIMEOUT_MS = 10000 };

// Bodies are apart from what lists read, so that lists touch few pages. A group's
// figures are kept with it, so that no list counts reports.
static const char schema[] =
    "CREATE TABLE groups(number INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE,"
    " title TEXT NOT NULL, summary TEXT NOT NULL, signal INTEGER NOT NULL,"
    " status TEXT NOT NULL DEFAULT 'open', count INTEGER NOT NULL,"
    " first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL);"
    "CREATE INDEX groups_by_last_seen ON groups(last_seen, number);"
    "CREATE TABLE group_releases(group_number INTEGER NOT NULL, release TEXT NOT NULL,"
    " count INTEGER NOT NULL, last_seen INTEGER NOT NULL,"
    " PRIMARY KEY(group_number, release)) WITHOUT ROWID;"
    "CREATE TABLE group_days(group_number INTEGER NOT NULL, day INTEGER NOT NULL,"
    " count INTEGER NOT NULL, PRIMARY KEY(group_number, day)) WITHOUT ROWID;"
    "CREATE TABLE reports(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    " revision INTEGER NOT NULL, group_number INTEGER NOT NULL, time INTEGER NOT NULL,"
    " received INTEGER NOT NULL, signal INTEGER NOT NULL, signal_name TEXT NOT NULL,"
    " title TEXT NOT NULL, summary TEXT NOT NULL, release TEXT NOT NULL,"
    " environment TEXT NOT NULL, executable TEXT NOT NULL, hostname TEXT NOT NULL);"
    "CREATE INDEX reports_by_time ON reports(time, number);"
    "CREATE INDEX reports_by_group ON reports(group_number, time, number);"
    "CREATE TABLE tags(report INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,"
    " PRIMARY KEY(report, key)) WITHOUT ROWID;"
    "CREATE INDEX tags_by_value ON tags(key, value, report);"
    "CREATE TABLE bodies(report INTEGER PRIMARY KEY, encoding INTEGER NOT NULL,"
    " bytes BLOB NOT NULL);"
    "PRAGMA user_version = 1;";

enum statement {
    BEGIN,
    COMMIT,
    ROLLBACK,
    FIND_REPORT,
    GROUP_GAINS,
    RELEASE_GAINS,
    DAY_GAINS,
    ADD_REPORT,
    ADD_TAG,
    ADD_BODY,
    GROUP_LOSES,
    RELEASE_LOSES,
    DAY_LOSES,
    REMOVE_TAGS,
    REMOVE_EMPTY_GROUP,
};

static const char *const statement_texts[] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [FIND_REPORT] = "SELECT number, revision, group_number, release, time FROM reports"
                    " WHERE id = ?1",
    [GROUP_GAINS] = "INSERT INTO groups(fingerprint, title, summary, signal, count,"
                    " first_seen, last_seen) VALUES(?1, ?2, ?3, ?4, 1, ?5, ?5)"
                    " ON CONFLICT(fingerprint) DO UPDATE SET count = count + 1,"
                    " first_seen = min(first_seen, excluded.first_seen),"
                    " last_seen = max(last_seen, excluded.last_seen)"
                    " RETURNING number",
    [RELEASE_GAINS] = "INSERT INTO group_releases VALUES(?1, ?2, 1, ?3)"
                      " ON CONFLICT DO UPDATE SET count = count + 1,"
                      " last_seen = max(last_seen, excluded.last_seen)",
    [DAY_GAINS] = "INSERT INTO group_days VALUES(?1, ?2, 1)"
                  " ON CONFLICT DO UPDATE SET count = count + 1",
    [ADD_REPORT] = "INSERT OR REPLACE INTO reports VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7,"
                   " ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    [ADD_TAG] = "INSERT OR REPLACE INTO tags VALUES(?1, ?2, ?3)",
    [ADD_BODY] = "INSERT OR REPLACE INTO bodies VALUES(?1, ?2, ?3)",
    [GROUP_LOSES] =
        "UPDATE groups SET count = count - 1,"
        " first_seen = coalesce((SELECT min(time) FROM reports WHERE"
        " group_number = ?1 AND number <> ?2), first_seen),"
        " last_seen = coalesce((SELECT max(time) FROM reports WHERE"
        " group_number = ?1 AND number <> ?2), last_seen) WHERE number = ?1",
    [RELEASE_LOSES] = "UPDATE group_releases SET count = count - 1"
                      " WHERE group_number = ?1 AND release = ?2",
    [DAY_LOSES] = "UPDATE group_days SET count = count - 1"
                  " WHERE group_number = ?1 AND day = ?2",
    [REMOVE_TAGS] = "DELETE FROM tags WHERE report = ?1",
    [REMOVE_EMPTY_GROUP] = "DELETE FROM groups WHERE number = ?1 AND count <= 0",
};

enum { STATEMENT_COUNT = sizeof(statement_texts) / sizeof(statement_texts[0]) };

// What is kept of a report that is about to be replaced.
struct replaced {
    int64_t number; // 0: there is none
    int64_t revision;
    int64_t group;
    int64_t time_ms;
    char release[sizeof(((struct entry *)NULL)->release)];
};

static void explain(sqlite3 *db, const char *what, char error[STORE_ERROR_SIZE])
{
    snprintf(error, STORE_ERROR_SIZE, "cannot %s: %s", what,
             db != NULL ? sqlite3_errmsg(db) : "out of memory");
}

static void bind_text(sqlite3_stmt *statement, int index, const char *text)
{
    sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
}

// run steps a statement that gives at most one row, stores that row's first column at
// out_number (which may be NULL), and makes it ready for the next time.
static int run(sqlite3_stmt *statement, int64_t *out_number)
{
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        if (out_number != NULL)
            *out_number = sqlite3_column_int64(statement, 0);
        result = sqlite3_step(statement);
    }
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return result == SQLITE_DONE ? SQLITE_OK : result;
}

static int find_replaced(struct store_sqlite_writer *writer, const char *id,
                         struct replaced *out)
{
    sqlite3_stmt *find = writer->statements[FIND_REPORT];
    bind_text(find, 1, id);
    int result = sqlite3_step(find);
    *out = (struct replaced){ 0 };
    if (result == SQLITE_ROW) {
        out->number = sqlite3_column_int64(find, 0);
        out->revision = sqlite3_column_int64(find, 1);
        out->group = sqlite3_column_int64(find, 2);
        const char *release = (const char *)sqlite3_column_text(find, 3);
        entry_copy(out->release, sizeof(out->release), release != NULL ? release : "");
        out->time_ms = sqlite3_column_int64(find, 4);
        result = SQLITE_DONE;
    }
    sqlite3_reset(find);
    return result == SQLITE_DONE ? SQLITE_OK : result;
}

// lose takes a report that is about to be replaced out of its group's figures.
static int lose(struct store_sqlite_writer *writer, const struct replaced *old)
{
    sqlite3_stmt *group = writer->statements[GROUP_LOSES];
    sqlite3_bind_int64(group, 1, old->group);
    sqlite3_bind_int64(group, 2, old->number);
    sqlite3_stmt *release = writer->statements[RELEASE_LOSES];
    sqlite3_bind_int64(release, 1, old->group);
    bind_text(release, 2, old->release);
    sqlite3_stmt *day = writer->statements[DAY_LOSES];
    sqlite3_bind_int64(day, 1, old->group);
    sqlite3_bind_int64(day, 2, old->time_ms / MOMENT_DAY_MS);
    sqlite3_stmt *tags = writer->statements[REMOVE_TAGS];
    sqlite3_bind_int64(tags, 1, old->number);

    int result = run(group, NULL);
    if (result == SQLITE_OK)
        result = run(release, NULL);
    if (result == SQLITE_OK)
        result = run(day, NULL);
    return result == SQLITE_OK ? run(tags, NULL) : result;
}

// gain counts a report in its group, which it may be the first of.
static int gain(struct store_sqlite_writer *writer, const struct entry *entry,
                int64_t *out_group)
{
    sqlite3_stmt *group = writer->statements[GROUP_GAINS];
    bind_text(group, 1, entry->group);
    bind_text(group, 2, entry->title);
    bind_text(group, 3, entry->summary);
    sqlite3_bind_int64(group, 4, entry->signal);
    sqlite3_bind_int64(group, 5, entry->time_ms);
    int result = run(group, out_group);
    if (result != SQLITE_OK)
        return result;

    sqlite3_stmt *day = writer->statements[DAY_GAINS];
    sqlite3_bind_int64(day, 1, *out_group);
    sqlite3_bind_int64(day, 2, entry->time_ms / MOMENT_DAY_MS);
    result = run(day, NULL);
    if (result != SQLITE_OK || entry->release[0] == 0)
        return result;

    sqlite3_stmt *release = writer->statements[RELEASE_GAINS];
    sqlite3_bind_int64(release, 1, *out_group);
    bind_text(release, 2, entry->release);
    sqlite3_bind_int64(release, 3, entry->time_ms);
    return run(release, NULL);
}

static int add_row(struct store_sqlite_writer *writer, const struct entry *entry,
                   int64_t group, int64_t *number)
{
    sqlite3_stmt *add = writer->statements[ADD_REPORT];
    if (*number != 0)
        sqlite3_bind_int64(add, 1, *number);
    bind_text(add, 2, entry->id);
    sqlite3_bind_int64(add, 3, entry->revision);
    sqlite3_bind_int64(add, 4, group);
    sqlite3_bind_int64(add, 5, entry->time_ms);
    sqlite3_bind_int64(add, 6, entry->received_ms);
    sqlite3_bind_int64(add, 7, entry->signal);
    bind_text(add, 8, entry->signal_name);
    bind_text(add, 9, entry->title);
    bind_text(add, 10, entry->summary);
    bind_text(add, 11, entry->release);
    bind_text(add, 12, entry->environment);
    bind_text(add, 13, entry->executable);
    bind_text(add, 14, entry->hostname);
    int result = run(add, NULL);
    *number = sqlite3_last_insert_rowid(writer->db);
    return result;
}

static int add_tags(struct store_sqlite_writer *writer, const struct entry *entry,
                    int64_t number)
{
    int result = SQLITE_OK;
    for (size_t i = 0; i < entry->tag_count && result == SQLITE_OK; i++) {
        sqlite3_stmt *add = writer->statements[ADD_TAG];
        sqlite3_bind_int64(add, 1, number);
        bind_text(add, 2, entry->tags[i].key);
        bind_text(add, 3, entry->tags[i].value);
        result = run(add, NULL);
    }
    return result;
}

static int add_one(struct store_sqlite_writer *writer, struct store_upload *upload)
{
    struct replaced old;
    int result = find_replaced(writer, upload->entry->id, &old);
    if (result != SQLITE_OK)
        return result;
    upload->outcome = old.number == 0 ? STORE_ADDED : STORE_REPLACED;
    if (old.number != 0 && old.revision >= upload->entry->revision) {
        upload->outcome = STORE_KEPT;
        return SQLITE_OK;
    }

    if (old.number != 0)
        result = lose(writer, &old);
    int64_t group = 0;
    if (result == SQLITE_OK)
        result = gain(writer, upload->entry, &group);
    int64_t number = old.number;
    if (result == SQLITE_OK)
        result = add_row(writer, upload->entry, group, &number);
    if (result == SQLITE_OK)
        result = add_tags(writer, upload->entry, number);
    if (result != SQLITE_OK)
        return result;

    sqlite3_stmt *body = writer->statements[ADD_BODY];
    sqlite3_bind_int64(body, 1, number);
    sqlite3_bind_int64(body, 2, upload->encoding);
    sqlite3_bind_blob64(body, 3, upload->body, upload->body_size, SQLITE_STATIC);
    result = run(body, NULL);
    if (result != SQLITE_OK || old.number == 0)
        return result;
    sqlite3_bind_int64(writer->statements[REMOVE_EMPTY_GROUP], 1, old.group);
    return run(writer->statements[REMOVE_EMPTY_GROUP], NULL);
}

static enum ch_status sqlite_add(struct store *store, struct store_upload *uploads,
                                 size_t count, char error[STORE_ERROR_SIZE])
{
    struct store_sqlite_writer *writer = &((struct store_sqlite *)store)->writer;
    int result = run(writer->statements[BEGIN], NULL);
    for (size_t i = 0; i < count && result == SQLITE_OK; i++)
        result = add_one(writer, &uploads[i]);
    if (result == SQLITE_OK)
        result = run(writer->statements[COMMIT], NULL);
    if (result == SQLITE_OK)
        return CH_OK;

    explain(writer->db, "store reports", error);
    if (!sqlite3_get_autocommit(writer->db))
        run(writer->statements[ROLLBACK], NULL);
    return CH_ERR_IO;
}

// create_schema brings the database to the layout this program knows.
static int create_schema(sqlite3 *db, char error[STORE_ERROR_SIZE])
{
    sqlite3_stmt *version = NULL;
    int64_t found = 0;
    int result = sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &version, NULL);
    if (result == SQLITE_OK)
        result = run(version, &found);
    sqlite3_finalize(version);
    if (result == SQLITE_OK && found == 0) {
        result = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
        if (result == SQLITE_OK)
            result = sqlite3_exec(db, schema, NULL, NULL, NULL);
        if (result == SQLITE_OK)
            result = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    }
    if (result != SQLITE_OK) {
        explain(db, "prepare the database", error);
    } else if (found > SCHEMA_VERSION) {
        snprintf(error, STORE_ERROR_SIZE,
                 "cannot use the database: it has layout %lld, this program knows %d",
                 (long long)found, SCHEMA_VERSION);
        result = SQLITE_ERROR;
    }
    return result;
}

static int open_connection(const char *path, int flags, const char *pragmas,
                           sqlite3 **out)
{
    int result = sqlite3_open_v2(path, out, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (result != SQLITE_OK)
        return result;
    sqlite3_busy_timeout(*out, BUSY_TIMEOUT_MS);
    sqlite3_extended_result_codes(*out, 1);
    return sqlite3_exec(*out, pragmas, NULL, NULL, NULL);
}

static enum ch_status open_writer(struct store_sqlite_writer *writer, const char *path,
                                  char error[STORE_ERROR_SIZE])
{
    int result =
        open_connection(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                        "PRAGMA cache_size = -32768; PRAGMA trusted_schema = 0",
                        &writer->db);
    if (result != SQLITE_OK) {
        explain(writer->db, "open it", error);
        return CH_ERR_IO;
    }
    if (create_schema(writer->db, error) != SQLITE_OK)
        return CH_ERR_IO;
    for (size_t i = 0; i < STATEMENT_COUNT; i++) {
        result =
            sqlite3_prepare_v3(writer->db, statement_texts[i], -1,
                               SQLITE_PREPARE_PERSISTENT, &writer->statements[i], NULL);
        if (result == SQLITE_OK)
            continue;
        explain(writer->db, "prepare a statement", error);
        return CH_ERR_IO;
    }
    return CH_OK;
}

static enum ch_status open_readers(struct store_sqlite *store, const char *path,
                                   char error[STORE_ERROR_SIZE])
{
    while (store->idle_count < STORE_SQLITE_READERS) {
        sqlite3 **reader = &store->idle[store->idle_count++];
        int result =
            open_connection(path, SQLITE_OPEN_READONLY,
                            "PRAGMA query_only = 1; PRAGMA case_sensitive_like = 0;"
                            "PRAGMA cache_size = -8192; PRAGMA trusted_schema = 0",
                            reader);
        if (result == SQLITE_OK)
            continue;
        explain(*reader, "open it for reading", error);
        return CH_ERR_IO;
    }
    return CH_OK;
}

static void sqlite_close(struct store *base)
{
    struct store_sqlite *store = (struct store_sqlite *)base;
    for (size_t i = 0; i < store->idle_count; i++)
        sqlite3_close(store->idle[i]);
    for (size_t i = 0; i < STATEMENT_COUNT; i++)
        sqlite3_finalize(store->writer.statements[i]);
    sqlite3_close(store->writer.db);
    pthread_cond_destroy(&store->returned);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

static const struct store_backend backend = {
    .close = sqlite_close,
    .add = sqlite_add,
    .list_reports = store_sqlite_list_reports,
    .list_groups = store_sqlite_list_groups,
    .find_group = store_sqlite_find_group,
    .find_report = store_sqlite_find_report,
    .count = store_sqlite_count,
};

enum ch_status store_sqlite_open(const char *path, char error[STORE_ERROR_SIZE],
                                 struct store **out)
{
    struct store_sqlite *store = calloc(1, sizeof(*store));
    if (store == NULL) {
        explain(NULL, "open it", error);
        return CH_ERR_NO_MEMORY;
    }
    store->store.backend = &backend;
    pthread_mutex_init(&store->lock, NULL);
    pthread_cond_init(&store->returned, NULL);

    char reason[STORE_ERROR_SIZE];
    enum ch_status status = open_writer(&store->writer, path, reason);
    if (status == CH_OK)
        status = open_readers(store, path, reason);
    if (status != CH_OK) {
        snprintf(error, STORE_ERROR_SIZE, "store '%.100s': %.140s", path, reason);
        sqlite_close(&store->store);
        return status;
    }
    *out = &store->store;
    return CH_OK;
}
