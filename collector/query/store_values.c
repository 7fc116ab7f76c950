// SPDX-License-Identifier: Apache-2.0
#include "collector/query/store_values.h"

#include "collector/store/store_internal.h"

struct value_listing {
    store_value_fn *visit;
    void *context;
};

// list_value takes a row of value, count, count elsewhere, last seen.
static void list_value(void *context, const struct sql_row *row)
{
    const struct value_listing *listing = context;
    struct store_value value = { .value = sql_column_text(row, "value"),
                                 .count = sql_column_number(row, "count"),
                                 .elsewhere = sql_column_number(row, "elsewhere"),
                                 .last_seen_ms = sql_column_number(row, "last_seen") };
    listing->visit(listing->context, &value);
}

static enum ch_status run_value_query(struct store *store,
                                      enum store_statement statement,
                                      const struct sql_value *values, size_t count,
                                      struct value_listing *listing)
{
    struct sql *reader = store_borrow_to_list(store);
    enum ch_status status =
        sql_ask(reader, statement, values, count, list_value, listing);
    store_return(store, reader);
    return status;
}

enum ch_status store_list_values(struct store *store, const char *id,
                                 const struct store_values *asked,
                                 store_value_fn *visit, void *context)
{
    struct value_listing listing = { visit, context };
    bool bound = asked->project != NULL && asked->project[0] != 0;
    struct sql_value values[] = { sql_text(id), sql_number(asked->kind),
                                  sql_number((int64_t)asked->limit),
                                  sql_number(asked->least),
                                  sql_text(bound ? asked->project : "") };
    if (!asked->elsewhere)
        return run_value_query(store, STORE_LIST_VALUES, values, 3, &listing);
    return bound
               ? run_value_query(store, STORE_LIST_VALUES_OF, values, 5, &listing)
               : run_value_query(store, STORE_LIST_VALUES_OF_ALL, values, 4, &listing);
}

enum ch_status store_count_others(struct store *store, const char *id,
                                  const char *project, int64_t *out)
{
    struct sql_value values[] = { sql_text(id), sql_text(project) };
    bool bound = project[0] != 0;
    struct sql *reader = store_borrow_to_list(store);
    enum store_statement statement =
        bound ? STORE_COUNT_OTHERS : STORE_COUNT_OTHERS_OF_ALL;
    enum ch_status status =
        sql_ask(reader, statement, values, bound ? 2 : 1, sql_take_number, out);
    store_return(store, reader);
    return status;
}

enum ch_status store_list_releases(struct store *store, const char *project,
                                   store_value_fn *visit, void *context)
{
    struct value_listing listing = { visit, context };
    struct sql_value values[] = { sql_number(STORE_PAGE_MAX), sql_text(project) };
    return project[0] != 0
               ? run_value_query(store, STORE_LIST_RELEASES_OF, values, 2, &listing)
               : run_value_query(store, STORE_LIST_RELEASES, values, 1, &listing);
}

enum ch_status store_list_lone_hosts(struct store *store, const char *project,
                                     store_value_fn *visit, void *context)
{
    enum { LONE_HOSTS = 5, LEAST_GROUPS = 3 };
    struct value_listing listing = { visit, context };
    struct sql_value values[] = { sql_number(LEAST_GROUPS), sql_number(LONE_HOSTS),
                                  sql_text(project) };
    return run_value_query(store, STORE_LIST_LONE_HOSTS, values, 3, &listing);
}
