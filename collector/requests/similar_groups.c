// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/similar_groups.h"

#include <string.h>

#include "collector/store/store_symbolization.h"
#include "report/grouping/similar.h"

// similar_search is the nearest groups that were found so far.
struct similar_search {
    const struct store_group *group;
    struct similar_group *found;
    size_t count;
};

static void weigh_kin(void *context, const struct store_kin *kin)
{
    struct similar_search *search = context;
    if (strcmp(kin->id, search->group->id) == 0)
        return;
    int percent = similar_percent(search->group->stack, kin->stack);
    size_t at = search->count;
    while (at > 0 && search->found[at - 1].percent < percent)
        at--;
    if (percent < NEAR_LEAST || at == SIMILAR_GROUPS)
        return;
    search->count += search->count < SIMILAR_GROUPS;
    memmove(&search->found[at + 1], &search->found[at],
            (search->count - at - 1) * sizeof(search->found[0]));
    struct similar_group *near = &search->found[at];
    *near = (struct similar_group){ .count = kin->count, .percent = percent };
    entry_copy(near->id, sizeof(near->id), kin->id);
    entry_copy(near->title, sizeof(near->title), kin->title);
}

static void take_newest(void *context, const struct store_report *report)
{
    entry_copy(context, REPORT_ID_SIZE, report->id);
}

void similar_groups_newest(struct store *store, const char *group,
                           char out[REPORT_ID_SIZE])
{
    struct store_filter filter = { .group = group, .limit = 1 };
    char next[STORE_CURSOR_SIZE];
    out[0] = 0;
    if (store_list_reports(store, &filter, take_newest, out, next) != CH_OK)
        out[0] = 0;
}

enum ch_status similar_groups_find(struct store *store, const struct store_group *group,
                                   struct similar_group out[SIMILAR_GROUPS],
                                   size_t *out_count)
{
    struct similar_search search = { .group = group, .found = out };
    *out_count = 0;
    if (group->stack[0] == 0)
        return CH_OK;
    enum ch_status status = store_list_kin(store, group->project, weigh_kin, &search);
    for (size_t i = 0; status == CH_OK && i < search.count; i++)
        similar_groups_newest(store, out[i].id, out[i].newest);
    if (status == CH_OK)
        *out_count = search.count;
    return status;
}
