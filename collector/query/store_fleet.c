// SPDX-License-Identifier: Apache-2.0
#include "collector/query/store_fleet.h"

#include "collector/store/store_internal.h"

// fleet_listing visits rows of one kind.
struct fleet_listing {
    store_release_groups_fn *visit_release;
    store_compared_fn *visit_compared;
    store_machine_fn *visit_machine;
    store_missing_fn *visit_missing;
    store_symbol_fn *visit_symbol;
    void *context;
};

static enum ch_status list_fleet(struct store *store, enum store_statement statement,
                                 const struct sql_value *values, size_t count,
                                 sql_row_fn *take, void *listing)
{
    struct sql *reader = store_borrow_to_list(store);
    enum ch_status status = sql_ask(reader, statement, values, count, take, listing);
    store_return(store, reader);
    return status;
}

static void take_release_groups(void *context, const struct sql_row *row)
{
    const struct fleet_listing *listing = context;
    const struct store_release_groups release = {
        .project = sql_column_text(row, "project"),
        .program = sql_column_text(row, "program"),
        .release = sql_column_text(row, "release"),
        .began = sql_column_number(row, "began"),
        .back = sql_column_number(row, "back"),
    };
    listing->visit_release(listing->context, &release);
}

enum ch_status store_list_release_groups(struct store *store, const char *project,
                                         const char *program,
                                         store_release_groups_fn *visit, void *context)
{
    struct fleet_listing listing = { .visit_release = visit, .context = context };
    const struct sql_value values[] = { sql_text(project), sql_text(program) };
    return list_fleet(store, STORE_RELEASE_GROUPS, values, 2, take_release_groups,
                      &listing);
}

static void take_compared(void *context, const struct sql_row *row)
{
    const struct fleet_listing *listing = context;
    const struct store_compared compared = {
        .group = sql_column_text(row, "fingerprint"),
        .title = sql_column_text(row, "title"),
        .before = sql_column_number(row, "before_count"),
        .after = sql_column_number(row, "after_count"),
    };
    listing->visit_compared(listing->context, &compared);
}

enum ch_status store_compare_releases(struct store *store,
                                      const struct store_release_groups *of,
                                      const char *after, size_t limit,
                                      store_compared_fn *visit, void *context)
{
    struct fleet_listing listing = { .visit_compared = visit, .context = context };
    const struct sql_value values[] = { sql_text(of->project), sql_text(of->program),
                                        sql_text(of->release), sql_text(after),
                                        sql_number((int64_t)limit) };
    return list_fleet(store, STORE_RELEASES_COMPARED, values, 5, take_compared,
                      &listing);
}

static void take_machine(void *context, const struct sql_row *row)
{
    const struct fleet_listing *listing = context;
    const struct store_machine machine = {
        .host = sql_column_text(row, "host"),
        .reports = sql_column_number(row, "reports"),
        .groups = sql_column_number(row, "group_count"),
        .last_seen_ms = sql_column_number(row, "last_seen"),
        .counted = sql_column_number(row, "counted"),
    };
    listing->visit_machine(listing->context, &machine);
}

enum ch_status store_list_machines(struct store *store, const char *project,
                                   int64_t since_ms, size_t limit,
                                   store_machine_fn *visit, void *context)
{
    struct fleet_listing listing = { .visit_machine = visit, .context = context };
    const struct sql_value values[] = { sql_text(project), sql_number(since_ms),
                                        sql_number((int64_t)limit),
                                        sql_number(STORE_MACHINES_COUNTED) };
    return list_fleet(store, STORE_LIST_MACHINES, values, 4, take_machine, &listing);
}

static void take_missing_build(void *context, const struct sql_row *row)
{
    const struct fleet_listing *listing = context;
    const struct store_missing missing = {
        .build = sql_column_text(row, "build"),
        .program = sql_column_text(row, "program"),
        .example = sql_column_text(row, "example"),
        .reports = sql_column_number(row, "reports"),
        .last_seen_ms = sql_column_number(row, "last_seen"),
    };
    listing->visit_missing(listing->context, &missing);
}

enum ch_status store_list_missing(struct store *store, const char *project,
                                  size_t limit, store_missing_fn *visit, void *context)
{
    struct fleet_listing listing = { .visit_missing = visit, .context = context };
    const struct sql_value values[] = { sql_text(project), sql_number((int64_t)limit),
                                        sql_number(STORE_MISSING_COUNTED) };
    return list_fleet(store, STORE_LIST_MISSING, values, 3, take_missing_build,
                      &listing);
}

static void take_symbols_total(void *context, const struct sql_row *row)
{
    struct store_symbols_total *out = context;
    out->files = sql_column_number(row, "files");
    out->size = sql_column_number(row, "size");
    out->kept = sql_column_number(row, "kept");
}

enum ch_status store_symbols_total(struct store *store, const char *project,
                                   struct store_symbols_total *out)
{
    const struct sql_value value = sql_text(project);
    *out = (struct store_symbols_total){ 0 };
    return list_fleet(store, STORE_SYMBOLS_TOTAL, &value, 1, take_symbols_total, out);
}

static void take_latest_symbol(void *context, const struct sql_row *row)
{
    const struct fleet_listing *listing = context;
    const struct store_symbol_file file = {
        .key = sql_column_text(row, "key"),
        .name = sql_column_text(row, "name"),
        .project = sql_column_text(row, "project"),
        .release = sql_column_text(row, "release"),
        .size = sql_column_number(row, "size"),
        .kept = sql_column_number(row, "kept"),
        .used_ms = sql_column_number(row, "used"),
    };
    listing->visit_symbol(listing->context, &file);
}

enum ch_status store_list_latest_symbols(struct store *store, const char *project,
                                         size_t limit, store_symbol_fn *visit,
                                         void *context)
{
    struct fleet_listing listing = { .visit_symbol = visit, .context = context };
    const struct sql_value values[] = { sql_text(project), sql_number((int64_t)limit) };
    return list_fleet(store, STORE_SYMBOLS_LATEST, values, 2, take_latest_symbol,
                      &listing);
}
