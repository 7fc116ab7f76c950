// SPDX-License-Identifier: Apache-2.0
//
// What reports carry, counted: the values of one group, and of all groups.
//
// Counts are those of facets: of all reports that were received, and of one value at a
// time. Users: the overview, what a group's reports have in common.
#pragma once
#include "collector/entry/store_facet.h"
#include "collector/store/store.h"

// store_values is which values store_list_values visits.
struct store_values {
    int kind; // enum store_facet
    size_t limit;
    bool elsewhere; // count them in the other groups of the program, those seen last:
    int64_t least;  // only those that so many reports carry
};

// store_value is a value that reports carry.
struct store_value {
    const char *value;
    int64_t count;     // of reports
    int64_t elsewhere; // of reports in other groups
    int64_t last_seen_ms;
};

// store_totals is how much a store holds.
struct store_totals {
    int64_t reports;
    int64_t groups;
};

typedef void store_value_fn(void *context, const struct store_value *value);

// store_list_values visits the values of one kind (enum store_facet) that the reports
// of a group carry, the most frequent first, at most limit of them. Of a group with
// more than 10,000 values of that kind some are not looked at.
CH_CHECKED enum ch_status store_list_values(struct store *store, const char *id,
                                            const struct store_values *asked,
                                            store_value_fn *visit, void *context);

// store_count_others counts the reports of those groups in which values are counted as
// elsewhere.
CH_CHECKED enum ch_status store_count_others(struct store *store, const char *id,
                                             int64_t *out);

// store_counting is what store_count_values counts: the values of a kind of the
// reports that a filter accepts, or, where kind is 0, of each kind of which a report
// has few; then: with each value of a second kind, or 0.
struct store_counting {
    const struct store_filter *filter; // limit: of reports, the newest
    enum store_facet kind;
    enum store_facet then;
    size_t limit; // of values, the most frequent: of each kind, or of pairs
};

// store_counted is a value with the number of reports that have it.
struct store_counted {
    enum store_facet kind;
    const char *value;
    const char *then; // a value of the second kind, or empty
    int64_t count;
    int64_t most; // the count of the most frequent value of the kind; of pairs 0
};

typedef void store_counted_fn(void *context, const struct store_counted *counted);

// store_count_values visits them, by kind, the most frequent first. found: the reports
// that were counted, and whether there are more.
CH_CHECKED enum ch_status store_count_values(struct store *store,
                                             const struct store_counting *counting,
                                             store_counted_fn *visit, void *context,
                                             struct store_found *found);

typedef void store_program_fn(void *context, const char *program, int64_t count);

// store_list_programs visits the programs of a project (empty: of all) with how many
// reports each has had, the one with most first.
CH_CHECKED enum ch_status store_list_programs(struct store *store, const char *project,
                                              size_t limit, store_program_fn *visit,
                                              void *context);

// store_around is the ids of reports of a group: the ones before and after a report,
// and the oldest one. Empty: there is none.
struct store_around {
    char before[REPORT_ID_SIZE];
    char after[REPORT_ID_SIZE];
    char oldest[REPORT_ID_SIZE];
};

// store_reports_around finds those of the group that a report is in.
CH_CHECKED enum ch_status store_reports_around(struct store *store, const char *report,
                                               struct store_around *out);

// store_find_telling finds the report that says most among the newest of a group, the
// one with most functions, files, messages and arguments; empty: there is none.
CH_CHECKED enum ch_status store_find_telling(struct store *store, const char *group,
                                             char out[REPORT_ID_SIZE]);

// store_list_lone_hosts visits the hosts with groups that no other host has a part in,
// the one with most such groups first: count is the number of these groups, elsewhere
// that of their reports.
CH_CHECKED enum ch_status store_list_lone_hosts(struct store *store,
                                                const char *project,
                                                store_value_fn *visit, void *context);

// store_count counts what the store holds of a project, or, where that is empty, of
// all.
CH_CHECKED enum ch_status store_count(struct store *store, const char *project,
                                      struct store_totals *out);
