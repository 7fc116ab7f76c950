// SPDX-License-Identifier: Apache-2.0
#include "collector/query/saved_searches.h"

#include "collector/database/timestamp.h"
#include "collector/store/store_internal.h"

enum ch_status saved_search_save(struct store *store, const struct saved_search *search,
                                 char error[STORE_ERROR_SIZE])
{
    int64_t done_ms = 0;
    const struct sql_value values[] = {
        sql_text(search->project),      sql_text(search->name),
        sql_text(search->query),        sql_text(search->sort),
        sql_text(search->who),          sql_number(timestamp_now()),
        sql_number(SAVED_SEARCHES_MOST)
    };
    const struct store_step step = { STORE_SEARCH_SAVE, values, 7, &done_ms };
    enum ch_status status = store_change(store, "save a search", &step, 1, error);
    return status == CH_OK && done_ms == 0 ? CH_ERR_LIMIT : status;
}

enum ch_status saved_search_forget(struct store *store,
                                   const struct saved_search *search,
                                   char error[STORE_ERROR_SIZE])
{
    int64_t done_ms = 0;
    const struct sql_value values[] = { sql_text(search->project),
                                        sql_text(search->name) };
    const struct store_step step = { STORE_SEARCH_FORGET, values, 2, &done_ms };
    enum ch_status status = store_change(store, "remove a search", &step, 1, error);
    return status == CH_OK && done_ms == 0 ? CH_ERR_NOT_FOUND : status;
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
