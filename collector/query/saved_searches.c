// SPDX-License-Identifier: Apache-2.0
#include "collector/query/saved_searches.h"

#include "collector/database/timestamp.h"
#include "collector/store/store_internal.h"

// saving is a change of one search; done_ms is 0 if nothing changed.
struct saving {
    const struct saved_search *search;
    int64_t done_ms;
};

static enum ch_status save_search(struct sql *sql, void *context)
{
    struct saving *saving = context;
    const struct saved_search *search = saving->search;
    const struct sql_value values[] = {
        sql_text(search->project),      sql_text(search->name),
        sql_text(search->query),        sql_text(search->sort),
        sql_text(search->who),          sql_number(timestamp_now()),
        sql_number(SAVED_SEARCHES_MOST)
    };
    saving->done_ms = 0;
    sql_queue(sql, STORE_SEARCH_SAVE, values, 7, sql_take_number, &saving->done_ms);
    return sql_flush(sql);
}

enum ch_status saved_search_save(struct store *store, const struct saved_search *search,
                                 char error[STORE_ERROR_SIZE])
{
    struct saving saving = { .search = search };
    struct store_job job = { .what = "save a search",
                             .work = save_search,
                             .context = &saving };
    enum ch_status status = store_transact(store, &job, error);
    return status == CH_OK && saving.done_ms == 0 ? CH_ERR_LIMIT : status;
}

static enum ch_status forget_search(struct sql *sql, void *context)
{
    struct saving *saving = context;
    const struct sql_value values[] = { sql_text(saving->search->project),
                                        sql_text(saving->search->name) };
    saving->done_ms = 0;
    sql_queue(sql, STORE_SEARCH_FORGET, values, 2, sql_take_number, &saving->done_ms);
    return sql_flush(sql);
}

enum ch_status saved_search_forget(struct store *store,
                                   const struct saved_search *search,
                                   char error[STORE_ERROR_SIZE])
{
    struct saving saving = { .search = search };
    struct store_job job = { .what = "remove a search",
                             .work = forget_search,
                             .context = &saving };
    enum ch_status status = store_transact(store, &job, error);
    return status == CH_OK && saving.done_ms == 0 ? CH_ERR_NOT_FOUND : status;
}

struct search_listing {
    saved_search_fn *visit;
    void *context;
};

static void list_saved_search(void *context, const struct sql_row *row)
{
    const struct search_listing *listing = context;
    const struct saved_search search = { .name = sql_column_text(row, "name"),
                                         .query = sql_column_text(row, "query"),
                                         .sort = sql_column_text(row, "sort"),
                                         .who = sql_column_text(row, "who"),
                                         .time_ms = sql_column_number(row, "time") };
    listing->visit(listing->context, &search);
}

enum ch_status saved_searches_list(struct store *store, const char *project,
                                   saved_search_fn *visit, void *context)
{
    struct search_listing listing = { visit, context };
    const struct sql_value value = sql_text(project);
    return store_ask(store, STORE_SEARCHES, &value, 1, list_saved_search, &listing);
}
