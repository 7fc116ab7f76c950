// SPDX-License-Identifier: Apache-2.0
//
// The groups whose stacks are nearest to that of a group, which may be the same bug.
//
// Of the groups that were seen last, STORE_KIN at most, each is compared (similar.h);
// those that are alike enough are listed, the nearest first. Users: pages, api.
#pragma once
#include "collector/store/store.h"

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
