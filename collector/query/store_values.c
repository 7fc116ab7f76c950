// SPDX-License-Identifier: Apache-2.0
#include "collector/query/store_values.h"

#include "collector/store/store_internal.h"

struct value_listing {
    store_value_fn *visit;
    void *context;
};

// list_counted_value takes a row of value, count, count elsewhere, last seen.
static void list_counted_value(void *context, const struct sql_row *row)
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
        sql_ask(reader, statement, values, count, list_counted_value, listing);
    store_return(store, reader);
    return status;
}

enum ch_status store_list_values(struct store *store, const char *id,
                                 const struct store_values *asked,
                                 store_value_fn *visit, void *context)
{
    struct value_listing listing = { visit, context };
    struct sql_value values[] = { sql_text(id), sql_number(asked->kind),
                                  sql_number((int64_t)asked->limit),
                                  sql_number(asked->least) };
    return asked->elsewhere
               ? run_value_query(store, STORE_LIST_VALUES_OF, values, 4, &listing)
               : run_value_query(store, STORE_LIST_VALUES, values, 3, &listing);
}

enum ch_status store_count_others(struct store *store, const char *id, int64_t *out)
{
    struct sql_value value = sql_text(id);
    struct sql *reader = store_borrow_to_list(store);
    enum ch_status status =
        sql_ask(reader, STORE_COUNT_OTHERS, &value, 1, sql_take_number, out);
    store_return(store, reader);
    return status;
}

enum ch_status store_list_lone_hosts(struct store *store, const char *project,
                                     store_value_fn *visit, void *context)
{
    enum { LONE_HOSTS = 5, LEAST_GROUPS = 5 };
    struct value_listing listing = { visit, context };
    struct sql_value values[] = { sql_number(LEAST_GROUPS), sql_number(LONE_HOSTS),
                                  sql_text(project) };
    return run_value_query(store, STORE_LIST_LONE_HOSTS, values, 3, &listing);
}

struct program_listing {
    store_program_fn *visit;
    void *context;
};

static void list_program(void *context, const struct sql_row *row)
{
    const struct program_listing *listing = context;
    listing->visit(listing->context, sql_column_text(row, "program"),
                   sql_column_number(row, "count"));
}

enum ch_status store_list_programs(struct store *store, const char *project,
                                   size_t limit, store_program_fn *visit, void *context)
{
    struct program_listing listing = { visit, context };
    const struct sql_value values[] = { sql_text(project), sql_number((int64_t)limit) };
    struct sql *reader = store_borrow_to_list(store);
    enum ch_status status =
        sql_ask(reader, STORE_LIST_PROGRAMS, values, 2, list_program, &listing);
    store_return(store, reader);
    return status;
}

static void take_around(void *context, const struct sql_row *row)
{
    struct store_around *out = context;
    entry_copy(out->before, sizeof(out->before), sql_column_text(row, "before"));
    entry_copy(out->after, sizeof(out->after), sql_column_text(row, "after"));
    entry_copy(out->oldest, sizeof(out->oldest), sql_column_text(row, "oldest"));
}

enum ch_status store_reports_around(struct store *store, const char *report,
                                    struct store_around *out)
{
    struct sql_value id = sql_text(report);
    struct sql *reader = store_borrow_to_list(store);
    *out = (struct store_around){ 0 };
    enum ch_status status =
        sql_ask(reader, STORE_REPORTS_AROUND, &id, 1, take_around, out);
    store_return(store, reader);
    return status;
}

static void take_telling(void *context, const struct sql_row *row)
{
    entry_copy(context, REPORT_ID_SIZE, sql_column_text(row, "id"));
}

enum ch_status store_find_telling(struct store *store, const char *group,
                                  char out[REPORT_ID_SIZE])
{
    enum { TELLING_AMONG = 50 };
    const struct sql_value values[] = { sql_text(group), sql_number(TELLING_AMONG) };
    struct sql *reader = store_borrow_to_list(store);
    out[0] = 0;
    enum ch_status status =
        sql_ask(reader, STORE_FIND_TELLING, values, 2, take_telling, out);
    store_return(store, reader);
    return status;
}
