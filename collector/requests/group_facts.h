// SPDX-License-Identifier: Apache-2.0
//
// What the crashes of a group have in common, and the crashes of other groups have not:
// a host, a kernel, a thread, an argument that is null in all of them.
//
// A fact counts when nearly all reports of the group carry it, at most half of those of
// the other groups of its program do, and the title does not say it. Users: the group's
// page, the API.
#pragma once
#include "collector/entry/store_facet.h"
#include "collector/store/store.h"

enum { GROUP_FACTS = 10, GROUP_FACT_VALUE = 264 };

// group_fact_kind is a kind of fact: its key in searches, and how it is said.
struct group_fact_kind {
    enum store_facet facet;
    bool implied; // it follows from the place of the crash, which the title has
    const char *key;
    const char *label;
};

struct group_fact {
    const struct group_fact_kind *kind;
    char value[GROUP_FACT_VALUE];
    int64_t count;    // of the group's reports
    double elsewhere; // the share of the other groups' reports, 0 to 1
};

// group_facts holds them with the most telling first.
struct group_facts {
    struct group_fact list[GROUP_FACTS];
    size_t count;
    bool hardware; // nearly all are of one machine, which crashes alone in many groups
};

// group_facts_read compares a group with the others that were seen last.
CH_CHECKED enum ch_status group_facts_read(struct store *store,
                                           const struct store_group *group,
                                           struct group_facts *out);

// group_fact_lift is how many times as frequent the fact is in the group as elsewhere;
// 0: it is nowhere else.
double group_fact_lift(const struct group_fact *fact, const struct store_group *group);

// group_fact_kinds are the kinds that facets of a group are shown for, in their order.
const struct group_fact_kind *group_fact_kinds(size_t *out_count);

// The groups whose stacks are nearest to that of a group, which may be the same bug.
//
// Of the groups that were seen last, STORE_KIN at most, each is compared (group_key.h);
// those that are alike enough are listed, the nearest first. Users: pages, api.

enum { SIMILAR_GROUPS = 6 };

struct similar_group {
    char id[ENTRY_GROUP_SIZE];
    char title[sizeof(((struct entry *)NULL)->title)];
    char newest[REPORT_ID_SIZE]; // its latest report; empty: it has none
    int64_t count;
    int percent;
};

// similar_groups_find writes at most SIMILAR_GROUPS groups to out and their number to
// out_count.
CH_CHECKED enum ch_status similar_groups_find(struct store *store,
                                              const struct store_group *group,
                                              struct similar_group out[SIMILAR_GROUPS],
                                              size_t *out_count);

// similar_groups_newest writes the id of the latest report of a group: empty if it has
// none.
void similar_groups_newest(struct store *store, const char *group,
                           char out[REPORT_ID_SIZE]);
