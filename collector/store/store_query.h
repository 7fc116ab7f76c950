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

// store_look is what is looked up before a query is put together. A term is wide if
// more than STORE_WIDE facets have it: then the groups are asked for it one by one, in
// their order, and are not taken from a list.
struct store_look {
    bool wide[STORE_TERMS];
    bool many[STORE_TERMS]; // too many to sort the reports of all groups with it
    bool large;             // the store has had STORE_MANY_REPORTS
    struct text rising;     // the groups that rise; empty: not looked up
};

struct store_query {
    const struct store_look *look; // NULL: nothing is known
    struct text sql;
    struct text patterns[STORE_QUERY_PATTERNS]; // of searches
    size_t pattern_count;
    struct sql_value values[SQL_VALUES];
    size_t count;
    enum sql_dialect dialect;
};

// store_cursor is the row that a listing goes on after: its place in the order, and its
// number. store_cursor_read returns CH_ERR_MALFORMED for a text that is not ours.
struct store_cursor {
    int64_t place;
    int64_t number;
};
CH_CHECKED enum ch_status store_cursor_read(const char *text, struct store_cursor *out);

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

// store_query_narrow_reports adds a filter's conditions on a report r in a group g.
// marked says that r is known to be of a group that store_query_narrow_to_marked finds.
void store_query_narrow_reports(struct store_query *query,
                                const struct store_filter *filter, bool marked);

// store_query_terms is which of the terms on reports a report has to have, or where
// they are looked for.
enum store_query_terms {
    TERMS_OF_ALL,   // reports of all groups
    TERMS_IN_GROUP, // reports of one group
    TERMS_OF_TIME,  // those on its time alone
};

// store_query_narrow_to_terms requires that a report r has a filter's terms.
void store_query_narrow_to_terms(struct store_query *query,
                                 const struct store_filter *filter,
                                 enum store_query_terms terms);

// store_query_narrow_by_groups adds a filter's conditions on a group g as a whole, and
// store_query_narrow_by_reports that it has a report that the filter accepts, where its
// values do not decide that.
void store_query_narrow_by_groups(struct store_query *query,
                                  const struct store_filter *filter);
void store_query_narrow_by_reports(struct store_query *query,
                                   const struct store_filter *filter);

// store_query_search_listed keeps the groups g that have the value of each term on
// reports, lazily: but for wide ones, of which store_query_search_wide keeps the groups
// one by one. store_query_lists_groups says whether the former finds few groups.
void store_query_search_listed(struct store_query *query,
                               const struct store_filter *filter, bool lazily);
void store_query_search_wide(struct store_query *query,
                             const struct store_filter *filter);
bool store_query_lists_groups(const struct store_query *query,
                              const struct store_filter *filter);

// store_query_finds_by_group says whether a filter has terms that are not wide and
// whose reports are found by the groups that have them, and
// store_query_narrow_to_marked keeps the groups g that have all of these.
bool store_query_finds_by_group(const struct store_filter *filter,
                                const struct store_look *look);
void store_query_narrow_to_marked(struct store_query *query,
                                  const struct store_filter *filter);

// store_query_compares_column says whether a column leaves few of a group's reports
// over, and store_query_narrows_groups whether a filter has terms on groups as a whole.
bool store_query_compares_column(const struct store_filter *filter);
bool store_query_narrows_groups(const struct store_filter *filter);

// store_query_look looks up what a filter's query needs to know; store_look_deinit
// frees it.
CH_CHECKED enum ch_status store_query_look(struct store *store, struct sql *sql,
                                           const struct store_filter *filter,
                                           struct store_look *out);
void store_look_deinit(struct store_look *look);

// store_query_has_probe says whether facets decide which groups may have a term.
bool store_query_has_probe(const struct store_term *term);

// store_query_is_of_reports says whether a term is one on reports, and
// store_query_finds_part whether the value of such a one may be a part of theirs.
bool store_query_is_of_reports(const struct store_term *term);
bool store_query_finds_part(const struct store_term *term);

// store_query_add_facet_of_kind requires that a row f of facets is of the term's kind
// and value, by looking at the value.
void store_query_add_facet_of_kind(struct store_query *query,
                                   const struct store_term *term);

// store_query_add_wide_probe selects the facets that have a term, up to limit.
void store_query_add_wide_probe(struct store_query *query,
                                const struct store_term *term, int64_t limit);

// store_query_add_rising requires that the group g rises, by its days.
void store_query_add_rising(struct store_query *query);

// store_query_list_groups writes the query that lists the groups g of a filter: columns
// of them, place in the order, the number of reports that are filtered and, if counted
// is true, how many groups are found. store_query_count_groups counts them alone.
void store_query_list_groups(struct store_query *query,
                             const struct store_filter *filter, const char *columns,
                             const struct store_cursor *after, bool counted);
void store_query_count_groups(struct store_query *query,
                              const struct store_filter *filter);

// store_query_sorts_counts is true where the place of a group is the number of its
// reports that the filter accepts. store_query_bound is the number of groups that are
// looked for, or 0 where it is all.
bool store_query_sorts_counts(const struct store_filter *filter);
size_t store_query_bound(const struct store_filter *filter,
                         const struct store_look *look);

// store_query_add_count adds the expression that counts the reports of a group g that
// the filter accepts, and store_query_add_cut one that is 1 if that left older reports
// out, else 0: where facets do not decide, it looks at reports, in a large store at the
// newest STORE_COUNTED_MOST. store_query_counts says whether the filter has terms on
// reports.
void store_query_add_count(struct store_query *query,
                           const struct store_filter *filter);
void store_query_add_cut(struct store_query *query, const struct store_filter *filter);
bool store_query_counts(const struct store_filter *filter);

// store_query_begin_exists and store_query_end_exists enclose a SELECT that has to find
// a row. With PostgreSQL it is one that no planner turns into a join: what it is asked
// for is few rows, in their order, and a join would find all.
void store_query_begin_exists(struct store_query *query);
void store_query_end_exists(struct store_query *query);

// store_query_add_contains requires that a text, given in SQL, contains the searched
// string. In SQLite it may be several texts, after commas.
void store_query_add_contains(struct store_query *query, const char *text,
                              const char *searched);

// store_query_is_indexed says whether the indexes of words can find the string: they
// hold runs of three characters.
bool store_query_is_indexed(const char *searched);

// store_query_has_trigram says whether the index of words finds the string without
// reading all of it. That of PostgreSQL leaves out what is no letter or digit.
bool store_query_has_trigram(enum sql_dialect dialect, const char *searched);

// store_query_add_words requires that `value` of a row f of facets is, for one of the
// kinds of words from `kinds` on, one that contains the searched string.
void store_query_add_words(struct store_query *query, const char *kinds,
                           const char *searched);

// store_query_add_groups_of_words selects the groups that have a mark with the searched
// string in it. In SQLite the words of columns are found the same way.
void store_query_add_groups_of_words(struct store_query *query, const char *searched);

// store_query_add_texts adds, in SQLite, a row for each title and summary of a group
// with the searched string in it. In PostgreSQL no index finds some of very many:
// store_query_estimate_texts selects about how many values of columns have it.
void store_query_add_texts(struct store_query *query, const char *searched);
void store_query_estimate_texts(struct store_query *query, const char *searched);

// store_query_add_word_search keeps the groups with a report that contains the searched
// string; column is the number of a group. In PostgreSQL one index has all values of
// columns; in SQLite it has only those that differ from group to group, and the others
// are words.
void store_query_add_word_search(struct store_query *query, const char *column,
                                 const char *searched);

// store_query_run runs the query on a connection.
CH_CHECKED enum ch_status store_query_run(const struct store_query *query,
                                          struct sql *sql, sql_row_fn *visit,
                                          void *context);
