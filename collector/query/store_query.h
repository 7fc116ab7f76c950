// SPDX-License-Identifier: Apache-2.0
//
// Statements that a filter narrows: sql/filtered.sql has them with all clauses, and a
// query is one of them for a filter.
//
// A clause has conditions, and is left out unless they hold; it may be there for each
// term of a list. All conditions and values are found out when a query begins or, if
// they are of a term, when the text comes to that term; so a statement is read in its
// file alone. Every value is bound.
//
// Lists of groups are narrowed by facets, which are exact for one condition. Where
// several conditions must hold for the same report, facets and days say between how
// many reports have them ({BOUNDS}); the reports of a group are examined where that
// does not decide it. Searches use the index over facets. Values with wildcards do not
// narrow a list, nor do alternatives that one of those is among, or a term that is
// negated or wide.
#pragma once
#include "collector/store/store_internal.h"

// store_look is what is looked up before a query is put together. A term is wide if
// more than STORE_WIDE facets have it: then the groups are asked for it one by one, in
// their order, and are not taken from a list.
struct store_look {
    bool wide[STORE_TERMS];
    bool many[STORE_TERMS]; // too many to sort the reports of all groups with it
    bool large;             // the store has had STORE_MANY_REPORTS
    struct text rising;     // the groups that rise; empty: not looked up
    struct text fresh;      // the releases that are new, as JSON; the same
};

// store_query_facet is what reports carry that a key is compared with; 0: nothing
// alone.
enum store_facet store_query_facet(enum store_key key);

// QUERY_IF and so on are the bytes that statements.cmake writes: `if` is followed by
// conditions and `then`, `each` by a list, `value` by a value. Numbers have two digits.
enum { QUERY_IF = 1, QUERY_THEN, QUERY_END, QUERY_EACH, QUERY_VALUE };

// query_clause is a condition of a clause. Lower numbers are those of enum store_key:
// the term has that key.
enum query_clause {
    CLAUSE_BY_COUNT = STORE_KEY_COUNT, // groups are sorted by
    CLAUSE_BY_MACHINES,
    CLAUSE_BY_FIRST_SEEN,
    CLAUSE_BY_LAST_SEEN,
    CLAUSE_BY_RISING,
    CLAUSE_COUNTS_SORT, // the place of a group is of the reports that the filter
                        // accepts
    CLAUSE_IN_GROUP,
    CLAUSE_IN_PROJECT,
    CLAUSE_AFTER,           // a page after the first
    CLAUSE_COUNTED,         // each row has how many groups are found
    CLAUSE_LIMITED,         // only the first groups are looked for,
    CLAUSE_BOUNDED,         // and their reports are looked at,
    CLAUSE_ORDERED,         // in their order,
    CLAUSE_SORTS,           // which no index has
    CLAUSE_COMPARES_COLUMN, // a column leaves few reports over
    CLAUSE_NARROWED,        // there are terms on reports:
    CLAUSE_SEVERAL,         // more than one, or one that is negated
    CLAUSE_LEFT,            // reports count that retention left
    CLAUSE_LARGE,           // machines are counted among the newest
    CLAUSE_COUNTED_BOUNDED, // and so are reports
    CLAUSE_MARKED,          // groups were found before,
    CLAUSE_FEW,             // with few reports
    CLAUSE_NUMBERS,         // reports are listed by their numbers alone
    CLAUSE_NEGATED,         // of a term, from here on
    CLAUSE_JOINED,          // an alternative of the term before it
    CLAUSE_OPENS,           // the first of several alternatives
    CLAUSE_CLOSES,          // the last of them
    CLAUSE_WILDCARD,
    CLAUSE_PIECE, // an index finds hosts with a piece of it
    CLAUSE_OF_GROUP,
    CLAUSE_OF_TIME,
    CLAUSE_SEARCHED, // groups are kept by their facets
    CLAUSE_LISTED,   // groups are kept by a list of those that have the value
    CLAUSE_FACET,    // it has facets, and is no word
    CLAUSE_WIDE,
    CLAUSE_FOUND_BY_GROUP, // reports are found by the groups that have the value
    CLAUSE_BY_TIME,        // SQLite goes through the reports by their time
    CLAUSE_BY_ROW,         // PostgreSQL reads the row of a report for it
    CLAUSE_HAS_MARK,       // it may be in a report's marks
    CLAUSE_PART,           // the value may be a part of a report's
    CLAUSE_WHOLE,          // the value is a report's, as it is
    CLAUSE_REPEATS,        // a report may have several such values
    CLAUSE_BY_WORD,        // an index has the values with that part
    CLAUSE_AS_IS,          // JSON has the value as it is
    CLAUSE_ASCII,
    CLAUSE_COUNT
};

// query_list is a list of terms. Those that columns decide come first in all but
// LIST_TERM.
enum query_list {
    LIST_TERM,    // all
    LIST_RANKED,  // all on reports
    LIST_COUNTED, // without times since which, where the count is bounded
    LIST_CHOICE,  // alternatives that indexes find all of
};

// query_value is a value in a statement; those of a term come last.
enum query_value {
    VALUE_GROUP,
    VALUE_PROJECT,
    VALUE_PLACE, // place and number_after: the row that a page comes after
    VALUE_NUMBER_AFTER,
    VALUE_LIMIT,
    VALUE_MOST, // groups that are looked for
    VALUE_MARKED,
    VALUE_RISEN,
    VALUE_FRESH,
    VALUE_WEEK_MS, // the first of the last seven days
    VALUE_SINCE,   // the last time since which
    VALUE_EVER,
    VALUE_LAST_DAY,
    VALUE_COUNTED, // reports of a group that are counted, less one
    VALUE_VALUE,
    VALUE_TAG,
    VALUE_NUMBER,
    VALUE_HIGH,
    VALUE_DAY, // of a number that is a time
    VALUE_NEXT_DAY,
    VALUE_PATTERN, // of the value, for an index of words, or for LIKE
    VALUE_PIECE,   // the longest text between wildcards, for an index of words
    VALUE_KIND,    // the number of its facet, and
    VALUE_TERM,    // its own: both are written and not bound
    VALUE_COUNT
};

struct store_query {
    const struct store_filter *filter;
    const struct store_look *look;
    enum sql_dialect dialect;
    bool holds[CLAUSE_COUNT];
    struct sql_value named[VALUE_COUNT];
    const struct store_term *term; // that the text is at, or NULL
    bool by_index; // PostgreSQL: its index has some of the terms of the list
    struct text sql;
    struct text patterns[STORE_TERMS];
    struct text pieces[STORE_TERMS];
    struct sql_value values[SQL_VALUES];
    unsigned char bound_as[SQL_VALUES]; // enum query_value of each
    size_t count;
};

// store_query_begin finds out what a filter leaves out; NULL for look: nothing is
// known. store_query_deinit frees what the query holds.
void store_query_begin(struct store_query *query, enum sql_dialect dialect,
                       const struct store_filter *filter,
                       const struct store_look *look);
void store_query_deinit(struct store_query *query);

// store_query_find_most finds most groups, of which reports are looked at in the order
// of the groups; 0: all.
void store_query_find_most(struct store_query *query, size_t most);

// store_query_go_on takes the cursor of the filter, if there is one. CH_ERR_MALFORMED:
// it is not ours.
CH_CHECKED enum ch_status store_query_go_on(struct store_query *query);

// store_query_run writes a statement into query->sql and runs it.
CH_CHECKED enum ch_status store_query_run(struct store_query *query, struct sql *sql,
                                          enum store_statement statement,
                                          sql_row_fn *visit, void *context);

// store_query_enter finds out the conditions and values of a term, and
// store_query_list takes the terms of a list.
void store_query_enter(struct store_query *query, const struct store_term *term);
size_t store_query_list(struct store_query *query, enum query_list list,
                        const struct store_term *out[STORE_TERMS]);

// store_query_bound is the number of groups that are looked for, or 0 where it is all.
size_t store_query_bound(const struct store_query *query);

// store_query_finds_by_group returns true if there are terms that are not wide and
// whose reports are found by the groups that have them, or terms on groups as a whole,
// by which SQLite finds reports so.
bool store_query_finds_by_group(const struct store_query *query);

// store_query_is_indexed returns true if an index can tell how many facets have a term.
bool store_query_is_indexed(enum sql_dialect dialect, const struct store_term *term);

// store_query_piece returns the longest text without wildcards in a value.
const char *store_query_piece(const char *value, size_t *out_length);

// store_query_finds_part returns true if the value may be a part of what reports carry.
bool store_query_finds_part(const struct store_term *term);

// store_query_has_trigram returns true if an index finds the facets without reading all
// of it. That of PostgreSQL leaves out what is no letter or digit.
bool store_query_has_trigram(enum sql_dialect dialect, const struct store_term *term);

// store_query_look looks up what a filter's query needs to know; store_look_deinit
// frees it.
CH_CHECKED enum ch_status store_query_look(struct store *store, struct sql *sql,
                                           const struct store_filter *filter,
                                           struct store_look *out);
void store_look_deinit(struct store_look *look);
