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
    return sql_ask(sql, STORE_SYMBOL_KEEP, row, 7, NULL, NULL);
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
    return store_ask(store, STORE_SYMBOLS_SIZE, of, 2, sql_take_number, out);
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

enum ch_status store_symbol_find(struct store *store, const char *key,
                                 store_symbol_fn *visit, void *context)
{
    struct symbol_listing listing = { .visit = visit, .context = context };
    const struct sql_value value = sql_text(key);
    enum ch_status status =
        store_ask(store, STORE_SYMBOL_FIND, &value, 1, list_symbol, &listing);
    return status == CH_OK && listing.count == 0 ? CH_ERR_NOT_FOUND : status;
}

enum ch_status store_list_symbols(struct store *store, store_symbol_fn *visit,
                                  void *context)
{
    struct symbol_listing listing = { .visit = visit, .context = context };
    return store_ask(store, STORE_SYMBOLS_LIST, NULL, 0, list_symbol, &listing);
}

enum ch_status store_list_removable(struct store *store, int64_t used_ms,
                                    const char *release, const char *project,
                                    store_symbol_fn *visit, void *context)
{
    struct symbol_listing listing = { .visit = visit, .context = context };
    const struct sql_value values[] = {
        sql_number(used_ms),
        sql_number(STORE_SYMBOLS_STEP),
        sql_text(project != NULL ? project : ""),
        sql_text(release),
    };
    return release != NULL ? store_ask(store, STORE_SYMBOLS_REMOVABLE_OF, values, 4,
                                       list_symbol, &listing)
                           : store_ask(store, STORE_SYMBOLS_REMOVABLE, values, 3,
                                       list_symbol, &listing);
}

static enum ch_status touch_symbol(struct sql *sql, void *context)
{
    const struct symbol_change *change = context;
    const struct sql_value values[] = { sql_text(change->key),
                                        sql_number(change->now_ms) };
    return sql_ask(sql, STORE_SYMBOL_USED, values, 2, NULL, NULL);
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
    enum ch_status status =
        store_ask(store, STORE_SYMBOL_STALE, values, 2, sql_take_number, &stale);
    if (status != CH_OK || stale == 0 || store->reading)
        return status;
    return store_transact(store, &job, error);
}

static enum ch_status forget_symbol(struct sql *sql, void *context)
{
    const struct symbol_change *change = context;
    const struct sql_value key = sql_text(change->key);
    return sql_ask(sql, STORE_SYMBOL_FORGET, &key, 1, NULL, NULL);
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
    return store_ask(store, STORE_LIST_OWNED, &value, 1, list_build, &listing);
}

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
        sql_ask(reader, STORE_LIST_LACKING, &value, 1, list_build, &listing);
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
    struct unasked_listing listing = { visit, context };
    const struct sql_value values[] = { sql_text(after), sql_number(since_ms),
                                        sql_number(STORE_SYMBOLS_STEP) };
    return store_ask(store, STORE_LIST_UNASKED, values, 3, list_unasked, &listing);
}

static enum ch_status note_build_asked(struct sql *sql, void *context)
{
    const struct symbol_change *change = context;
    const struct sql_value values[] = { sql_text(change->key),
                                        sql_number(change->now_ms) };
    return sql_ask(sql, STORE_BUILD_ASKED, values, 2, NULL, NULL);
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
