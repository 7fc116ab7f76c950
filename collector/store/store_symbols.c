// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store_symbols.h"

#include <stdio.h>
#include <string.h>

#include "collector/store/store_internal.h"

// symbol_change is one change of the rows of files or builds.
struct symbol_change {
    const struct store_symbol_file *file;
    const char *key;
    int64_t now_ms;
};

static enum ch_status keep_symbol_row(struct sql *sql, void *context)
{
    const struct symbol_change *change = context;
    const struct store_symbol_file *file = change->file;
    const struct sql_value row[] = {
        sql_text(file->key),        sql_text(file->name),    sql_number(file->size),
        sql_number(file->kept),     sql_text(file->project), sql_text(file->release),
        sql_number(change->now_ms),
    };
    return sql_query(sql,
                     "INSERT INTO symbol_files(key, name, size, kept, project, release,"
                     " added, used) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)"
                     " ON CONFLICT(key) DO UPDATE SET name = excluded.name, size ="
                     " excluded.size, kept = excluded.kept, project = excluded.project,"
                     " release = excluded.release, used = excluded.used",
                     row, 7, NULL, NULL);
}

enum ch_status store_symbol_keep(struct store *store,
                                 const struct store_symbol_file *file, int64_t now_ms,
                                 char error[STORE_ERROR_SIZE])
{
    struct symbol_change change = { .file = file, .now_ms = now_ms };
    struct store_job job = { .what = "keep a debug file",
                             .work = keep_symbol_row,
                             .context = &change };
    return store_transact(store, &job, error);
}

enum ch_status store_symbols_size(struct store *store, const char *project,
                                  const char *key, int64_t *out)
{
    const struct sql_value of[] = { sql_text(project), sql_text(key) };
    struct sql *reader = store_borrow(store);
    enum ch_status status = sql_query(reader,
                                      "SELECT CAST(coalesce(sum(size), 0) AS bigint) "
                                      "FROM symbol_files WHERE project ="
                                      " ?1 AND key <> ?2",
                                      of, 2, sql_take_number, out);
    store_return(store, reader);
    return status;
}

struct symbol_listing {
    store_symbol_fn *visit;
    void *context;
    size_t count;
};

static void list_symbol(void *context, const struct sql_row *row)
{
    struct symbol_listing *listing = context;
    const struct store_symbol_file file = {
        .key = sql_column_text(row, "key"),
        .name = sql_column_text(row, "name"),
        .project = sql_column_text(row, "project"),
        .release = sql_column_text(row, "release"),
        .size = sql_column_number(row, "size"),
        .kept = sql_column_number(row, "kept"),
        .used_ms = sql_column_number(row, "used"),
    };
    listing->count++;
    listing->visit(listing->context, &file);
}

#define SYMBOL_COLUMNS                                                                 \
    "SELECT key, name, project, release, size, kept, used FROM symbol_files"

static enum ch_status query_symbols(struct store *store, const char *text,
                                    const struct sql_value *values, size_t count,
                                    struct symbol_listing *listing)
{
    struct sql *reader = store_borrow(store);
    enum ch_status status =
        sql_query(reader, text, values, count, list_symbol, listing);
    store_return(store, reader);
    return status;
}

enum ch_status store_symbol_find(struct store *store, const char *key,
                                 store_symbol_fn *visit, void *context)
{
    struct symbol_listing listing = { .visit = visit, .context = context };
    const struct sql_value value = sql_text(key);
    enum ch_status status =
        query_symbols(store, SYMBOL_COLUMNS " WHERE key = ?1", &value, 1, &listing);
    return status == CH_OK && listing.count == 0 ? CH_ERR_NOT_FOUND : status;
}

enum ch_status store_list_symbols(struct store *store, store_symbol_fn *visit,
                                  void *context)
{
    struct symbol_listing listing = { .visit = visit, .context = context };
    return query_symbols(store, SYMBOL_COLUMNS " WHERE name <> ''", NULL, 0, &listing);
}

enum ch_status store_list_removable(struct store *store, int64_t used_ms,
                                    const char *release, const char *project,
                                    store_symbol_fn *visit, void *context)
{
    struct symbol_listing listing = { .visit = visit, .context = context };
    const struct sql_value values[] = {
        sql_number(used_ms),
        sql_text(release != NULL ? release : ""),
        sql_text(project != NULL ? project : ""),
        sql_number(STORE_SYMBOLS_STEP),
    };
    return query_symbols(store,
                         release != NULL ? SYMBOL_COLUMNS
                             " WHERE used < ?1 AND release = ?2 AND (?3 = '' OR"
                             " project = ?3) ORDER BY used LIMIT ?4"
                                         : SYMBOL_COLUMNS
                             " WHERE used < ?1 AND ?2 = '' AND (?3 = '' OR"
                             " project = ?3) ORDER BY used LIMIT ?4",
                         values, 4, &listing);
}

static enum ch_status touch_symbol(struct sql *sql, void *context)
{
    const struct symbol_change *change = context;
    const struct sql_value values[] = { sql_text(change->key),
                                        sql_number(change->now_ms) };
    return sql_query(sql, "UPDATE symbol_files SET used = ?2 WHERE key = ?1", values, 2,
                     NULL, NULL);
}

enum ch_status store_symbol_used(struct store *store, const char *key, int64_t now_ms,
                                 int64_t since_ms, char error[STORE_ERROR_SIZE])
{
    int64_t stale = 0;
    struct symbol_change change = { .key = key, .now_ms = now_ms };
    const struct sql_value values[] = { sql_text(key), sql_number(since_ms) };
    struct store_job job = { .what = "note that a debug file is used",
                             .work = touch_symbol,
                             .context = &change };
    struct sql *reader = store_borrow(store);
    enum ch_status status = sql_query(
        reader, "SELECT count(*) FROM symbol_files WHERE key = ?1 AND used < ?2",
        values, 2, sql_take_number, &stale);
    store_return(store, reader);
    if (status != CH_OK || stale == 0 || store->reading)
        return status;
    return store_transact(store, &job, error);
}

static enum ch_status forget_symbol(struct sql *sql, void *context)
{
    const struct symbol_change *change = context;
    const struct sql_value key = sql_text(change->key);
    return sql_query(sql, "DELETE FROM symbol_files WHERE key = ?1", &key, 1, NULL,
                     NULL);
}

enum ch_status store_symbol_forget(struct store *store, const char *key,
                                   char error[STORE_ERROR_SIZE])
{
    struct symbol_change change = { .key = key };
    struct store_job job = { .what = "remove a debug file",
                             .work = forget_symbol,
                             .context = &change };
    return store_transact(store, &job, error);
}

struct build_listing {
    store_build_name_fn *visit;
    void *context;
};

static void list_build(void *context, const struct sql_row *row)
{
    const struct build_listing *listing = context;
    listing->visit(listing->context, sql_column_text(row, "build"));
}

enum ch_status store_list_owned(struct store *store, const char *build,
                                store_build_name_fn *visit, void *context)
{
    struct build_listing listing = { visit, context };
    const struct sql_value value = sql_text(build);
    struct sql *reader = store_borrow(store);
    enum ch_status status =
        sql_query(reader,
                  "SELECT key AS build FROM symbol_files WHERE project <> '' AND"
                  " (CAST(?1 AS text) = '' OR key = project || '/' || ?1) UNION"
                  " SELECT build FROM symbols WHERE project <> '' AND"
                  " (?1 = '' OR build = project || '/' || ?1)",
                  &value, 1, list_build, &listing);
    store_return(store, reader);
    return status;
}

#define LACKING(listed) "SELECT DISTINCT build FROM nameless WHERE report " listed

enum ch_status store_list_lacking(struct store *store, const int64_t *reports,
                                  size_t count, store_build_name_fn *visit,
                                  void *context)
{
    struct build_listing listing = { visit, context };
    struct text CH_CLEANUP(text_deinit) list = { 0 };
    struct sql *reader = store_borrow(store);
    for (size_t i = 0; i < count; i++)
        store_list_append(&list, reports[i]);
    const struct sql_value value = store_list_end(reader, &list);
    enum ch_status status =
        sql_query(reader,
                  reader->dialect == SQL_POSTGRES
                      ? LACKING("= ANY(CAST(?1 AS bigint[]))")
                      : LACKING("IN (SELECT value FROM json_each(?1))"),
                  &value, 1, list_build, &listing);
    store_return(store, reader);
    return status;
}

struct unasked_listing {
    store_unasked_fn *visit;
    void *context;
};

static void list_unasked(void *context, const struct sql_row *row)
{
    const struct unasked_listing *listing = context;
    listing->visit(listing->context, sql_column_text(row, "build"),
                   sql_column_number(row, "unasked") != 0);
}

enum ch_status store_list_unasked(struct store *store, const char *after,
                                  int64_t since_ms, store_unasked_fn *visit,
                                  void *context)
{
    // One look into the index for each build, however many reports lack its names.
    static const char unasked[] =
        "WITH RECURSIVE b(build, n) AS (SELECT min(build), 1 FROM nameless WHERE build "
        ">"
        " ?1 UNION ALL SELECT (SELECT min(n.build) FROM nameless n WHERE n.build >"
        " b.build), b.n + 1 FROM b WHERE b.build IS NOT NULL AND b.n < ?3) SELECT "
        "build,"
        " CASE WHEN EXISTS(SELECT 1 FROM symbols s WHERE s.build = b.build) OR"
        " EXISTS(SELECT 1 FROM asked_builds a WHERE a.build = b.build AND a.time >= ?2)"
        " THEN 0 ELSE 1 END AS unasked FROM b WHERE build IS NOT NULL";
    struct unasked_listing listing = { visit, context };
    const struct sql_value values[] = { sql_text(after), sql_number(since_ms),
                                        sql_number(STORE_SYMBOLS_STEP) };
    struct sql *reader = store_borrow(store);
    enum ch_status status =
        sql_query(reader, unasked, values, 3, list_unasked, &listing);
    store_return(store, reader);
    return status;
}

static enum ch_status note_build_asked(struct sql *sql, void *context)
{
    const struct symbol_change *change = context;
    const struct sql_value values[] = { sql_text(change->key),
                                        sql_number(change->now_ms) };
    return sql_query(sql,
                     "INSERT INTO asked_builds(build, time) VALUES(?1, ?2)"
                     " ON CONFLICT(build) DO UPDATE SET time = excluded.time",
                     values, 2, NULL, NULL);
}

enum ch_status store_build_asked(struct store *store, const char *build, int64_t now_ms,
                                 char error[STORE_ERROR_SIZE])
{
    struct symbol_change change = { .key = build, .now_ms = now_ms };
    struct store_job job = { .what = "note which builds were asked for",
                             .work = note_build_asked,
                             .context = &change };
    return store_transact(store, &job, error);
}

bool store_fetch_enter(struct store *store)
{
    return fetch_gate_enter(&store->fetches);
}

void store_fetch_leave(struct store *store)
{
    fetch_gate_leave(&store->fetches);
}
