// SPDX-License-Identifier: Apache-2.0
//
// A query is a SELECT that grows with the conditions of a filter; every value is bound.
//
// Lists of groups are narrowed by facets, which are exact for one condition; where
// several conditions must hold for the same report, the reports of the groups that the
// facets let through are examined as well. Searches use the index over facets.
#pragma once
#include "collector/store/store_internal.h"

struct store_query {
    struct text sql;
    struct text pattern; // of a search
    struct sql_value values[SQL_VALUES];
    size_t count;
    enum sql_dialect dialect;
};

// store_query_deinit frees what a query holds; all zeros with a dialect is an empty
// query.
void store_query_deinit(struct store_query *query);

// store_query_add appends SQL without values.
void store_query_add(struct store_query *query, const char *sql);

// store_query_add_text and store_query_add_number append SQL in which every `?` is
// value.
void store_query_add_text(struct store_query *query, const char *sql,
                          const char *value);
void store_query_add_number(struct store_query *query, const char *sql, int64_t value);

// store_query_narrow_reports adds a filter's conditions on a report r in a group g, and
// store_query_narrow_groups its conditions on a group g.
void store_query_narrow_reports(struct store_query *query,
                                const struct store_filter *filter);
void store_query_narrow_groups(struct store_query *query,
                               const struct store_filter *filter);

// store_query_add_cursor continues after the row that a cursor names; columns is
// `r.time, r.number` or the like. CH_ERR_MALFORMED: it is not a cursor of ours.
CH_CHECKED enum ch_status store_query_add_cursor(struct store_query *query,
                                                 const char *columns,
                                                 const char *cursor);

// store_query_run runs the query on a connection.
CH_CHECKED enum ch_status store_query_run(const struct store_query *query,
                                          struct sql *sql, sql_row_fn *visit,
                                          void *context);
