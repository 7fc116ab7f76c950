// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store_symbols.h"

#include <stdio.h>
#include <string.h>

#include "collector/store/store_internal.h"

enum ch_status store_symbol_keep(struct store *store,
                                 const struct store_symbol_file *file, int64_t now_ms,
                                 char error[STORE_ERROR_SIZE])
{
    const struct sql_value row[] = {
        sql_text(file->key),    sql_text(file->name),    sql_number(file->size),
        sql_number(file->kept), sql_text(file->project), sql_text(file->release),
        sql_number(now_ms),
    };
    const struct store_step step = { STORE_SYMBOL_KEEP, row, 7, NULL };
    return store_change(store, "keep a debug file", &step, 1, error);
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

enum ch_status store_symbol_used(struct store *store, const char *key, int64_t now_ms,
                                 int64_t since_ms, char error[STORE_ERROR_SIZE])
{
    int64_t stale = 0;
    const struct sql_value values[] = { sql_text(key), sql_number(since_ms) };
    const struct sql_value used[] = { values[0], sql_number(now_ms) };
    const struct store_step step = { STORE_SYMBOL_USED, used, 2, NULL };
    enum ch_status status =
        store_ask(store, STORE_SYMBOL_STALE, values, 2, sql_take_number, &stale);
    if (status != CH_OK || stale == 0 || store->reading)
        return status;
    return store_change(store, "note that a debug file is used", &step, 1, error);
}

enum ch_status store_symbol_forget(struct store *store, const char *key,
                                   char error[STORE_ERROR_SIZE])
{
    const struct sql_value value = sql_text(key);
    const struct store_step step = { STORE_SYMBOL_FORGET, &value, 1, NULL };
    return store_change(store, "remove a debug file", &step, 1, error);
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

enum ch_status store_build_asked(struct store *store, const char *build, int64_t now_ms,
                                 char error[STORE_ERROR_SIZE])
{
    const struct sql_value values[] = { sql_text(build), sql_number(now_ms) };
    const struct store_step step = { STORE_BUILD_ASKED, values, 2, NULL };
    return store_change(store, "note which builds were asked for", &step, 1, error);
}

bool store_fetch_enter(struct store *store)
{
    return fetch_gate_enter(&store->fetches);
}

void store_fetch_leave(struct store *store)
{
    fetch_gate_leave(&store->fetches);
}
