// SPDX-License-Identifier: Apache-2.0
//
// A query is a SELECT that grows with the conditions of a filter; every value is bound.
//
// Lists of groups are narrowed by facets, which are exact for one condition; where
// several conditions must hold for the same report, the reports of the groups that the
// facets let through are examined as well. Searches use the index over facets.
#pragma once
#include "collector/store/store_internal.h"

// STORE_QUERY_PATTERNS is enough for two searches in each place where a filter is used.
enum { STORE_QUERY_PATTERNS = 8 * STORE_TERMS };

struct store_query {
    struct text sql;
    struct text patterns[STORE_QUERY_PATTERNS]; // of searches
    size_t pattern_count;
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

// store_query_add_equal requires that a column is value.
void store_query_add_equal(struct store_query *query, const char *column,
                           const char *value);

// store_query_add_days adds the sum of a group g's reports in the days after from, up
// to until.
void store_query_add_days(struct store_query *query, int64_t from, int64_t until);

// store_query_add_group_condition requires that a term that is not of reports holds for
// the group g.
void store_query_add_group_condition(struct store_query *query,
                                     const struct store_term *term);

// store_query_narrow_reports adds a filter's conditions on a report r in a group g, and
// store_query_narrow_groups its conditions on a group g. marked says that r
// is known to be of a group that store_query_narrow_to_marked finds.
void store_query_narrow_reports(struct store_query *query,
                                const struct store_filter *filter, bool marked);
void store_query_narrow_groups(struct store_query *query,
                               const struct store_filter *filter);

// store_query_finds_by_group says whether a filter has terms whose reports are found by
// the groups that have them, and store_query_narrow_to_marked keeps the groups g that
// have them all.
bool store_query_finds_by_group(const struct store_filter *filter);
void store_query_narrow_to_marked(struct store_query *query,
                                  const struct store_filter *filter);

// store_query_add_order adds the expression that a listing of groups g is ordered by.
void store_query_add_order(struct store_query *query,
                           const struct store_filter *filter);

// store_query_add_count adds the expression that counts the reports of a group g that
// the filter accepts. store_query_counts says whether that takes a look at any.
void store_query_add_count(struct store_query *query,
                           const struct store_filter *filter);
bool store_query_counts(const struct store_filter *filter);

// store_cursor is the row that a listing goes on after: its place in the order, and its
// number. store_cursor_read returns CH_ERR_MALFORMED for a text that is not ours.
struct store_cursor {
    int64_t place;
    int64_t number;
};
CH_CHECKED enum ch_status store_cursor_read(const char *text, struct store_cursor *out);

// store_query_run runs the query on a connection.
CH_CHECKED enum ch_status store_query_run(const struct store_query *query,
                                          struct sql *sql, sql_row_fn *visit,
                                          void *context);
