// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store_figures.h"

#include "collector/store/store_internal.h"

static void take_figures(void *context, const struct sql_row *row)
{
    struct store_figures *figures = context;
    figures->bytes = sql_column_number(row, "bytes");
    figures->oldest_ms = sql_column_number(row, "oldest");
    figures->moves = sql_column_number(row, "moves");
}

enum ch_status store_figures_of(struct store *store, struct store_figures *out)
{
    *out = (struct store_figures){ 0 };
    struct sql *reader = store_borrow(store);
    const char *text =
        reader->dialect == SQL_POSTGRES
            ? "SELECT pg_database_size(current_database()) AS bytes, coalesce((SELECT"
              " min(received) FROM reports), 0) AS oldest, (SELECT count(*) FROM"
              " moves) AS moves"
            : "SELECT (SELECT p.page_count * s.page_size FROM pragma_page_count() p,"
              " pragma_page_size() s) AS bytes, coalesce((SELECT min(received) FROM"
              " reports), 0) AS oldest, (SELECT count(*) FROM moves) AS moves";
    enum ch_status status = sql_query(reader, text, NULL, 0, take_figures, out);
    store_return(store, reader);
    return status;
}

struct project_listing {
    store_project_fn *visit;
    void *context;
};

static void list_project(void *context, const struct sql_row *row)
{
    const struct project_listing *listing = context;
    const struct store_project_figures figures = {
        .project = sql_column_text(row, "project"),
        .groups = sql_column_number(row, "groups"),
        .received = sql_column_number(row, "received"),
        .kept = sql_column_number(row, "kept")
    };
    listing->visit(listing->context, &figures);
}

enum ch_status store_list_project_figures(struct store *store, store_project_fn *visit,
                                          void *context)
{
    struct project_listing listing = { .visit = visit, .context = context };
    struct sql *reader = store_borrow(store);
    enum ch_status status = sql_query(
        reader,
        "SELECT project, count(*) AS groups, CAST(sum(count) AS bigint) AS"
        " received, CAST(sum(kept) AS bigint) AS kept FROM groups GROUP BY project"
        " ORDER BY project",
        NULL, 0, list_project, &listing);
    store_return(store, reader);
    return status;
}
