// SPDX-License-Identifier: Apache-2.0
#include "collector/query/store_figures.h"

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
    return store_ask(store, STORE_FIGURES, NULL, 0, take_figures, out);
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
    return store_ask(store, STORE_PROJECT_FIGURES, NULL, 0, list_project, &listing);
}
