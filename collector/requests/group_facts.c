// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/group_facts.h"

#include <string.h>

#include "collector/query/store_values.h"
#include "collector/store/store_symbolization.h"
#include "report/grouping/group_key.h"

enum {
    LEAST_REPORTS = 3, // fewer have everything in common
    VALUES_OF_A_KIND = 4,
    NEARLY_ALL_PERCENT = 90,
};

#define ELSEWHERE_MOST 0.5
#define HARDWARE_ELSEWHERE_MOST 0.25

static const struct group_fact_kind kinds[] = {
    { FACET_HOSTNAME, false, "host", "machine" },
    { FACET_RELEASE, false, "release", "release" },
    { FACET_ENVIRONMENT, false, "environment", "environment" },
    { FACET_EXECUTABLE, true, "program", "program" },
    { FACET_KERNEL, false, "kernel", "kernel" },
    { FACET_PROCESSOR, false, "processor", "processor" },
    { FACET_UPTIME, false, "uptime", "ran for" },
    { FACET_THREAD, false, "thread", "thread" },
    { FACET_ADDRESS, false, "address", "address" },
    { FACET_DEPTH, false, "depth", "stack" },
    { FACET_REGISTER, true, "register", "register" },
    { FACET_ARGUMENT, false, "argument", "argument" },
    { FACET_TAG, false, "tag", "tag" },
};
enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

const struct group_fact_kind *group_fact_kinds(size_t *out_count)
{
    *out_count = KIND_COUNT;
    return kinds;
}

double group_fact_lift(const struct group_fact *fact, const struct store_group *group)
{
    double share = (double)fact->count / (double)group->count;
    return fact->elsewhere > 0 ? share / fact->elsewhere : 0;
}

// comparing is a group while its values are visited.
struct comparing {
    const struct store_group *group;
    const struct group_fact_kind *kind;
    int64_t others; // reports of other groups
    struct group_facts *out;
    char host[sizeof(((struct entry *)NULL)->hostname)]; // that nearly all are of
};

// is_in_title returns true if the title says what a fact would say.
static bool is_in_title(const struct store_group *group,
                        const struct group_fact_kind *kind, const char *value)
{
    bool null = kind->facet == FACET_ADDRESS && strstr(group->title, "null") != NULL;
    return null || strstr(group->title, value) != NULL;
}

// take_common_value keeps the facts in the order of their share elsewhere.
static void take_common_value(void *context, const struct store_value *value)
{
    struct comparing *comparing = context;
    struct group_facts *facts = comparing->out;
    double elsewhere = comparing->others > 0
                           ? (double)value->elsewhere / (double)comparing->others
                           : 1;
    size_t at = facts->count;
    if (elsewhere > ELSEWHERE_MOST ||
        is_in_title(comparing->group, comparing->kind, value->value))
        return;
    while (at > 0 && facts->list[at - 1].elsewhere > elsewhere)
        at--;
    if (at == GROUP_FACTS)
        return;
    size_t kept = facts->count < GROUP_FACTS ? facts->count : GROUP_FACTS - 1;
    memmove(&facts->list[at + 1], &facts->list[at],
            (kept - at) * sizeof(facts->list[0]));
    facts->list[at] = (struct group_fact){ .kind = comparing->kind,
                                           .count = value->count,
                                           .elsewhere = elsewhere };
    entry_copy(facts->list[at].value, GROUP_FACT_VALUE, value->value);
    facts->count = kept + 1;
    if (comparing->kind->facet == FACET_HOSTNAME &&
        elsewhere <= HARDWARE_ELSEWHERE_MOST)
        entry_copy(comparing->host, sizeof(comparing->host), value->value);
}

// suspect_host suspects the hardware of a host that crashes alone in many groups, which
// have nothing else in common.
static void suspect_host(void *context, const struct store_value *value)
{
    struct comparing *comparing = context;
    comparing->out->hardware |= strcmp(comparing->host, value->value) == 0;
}

enum ch_status group_facts_read(struct store *store, const struct store_group *group,
                                struct group_facts *out)
{
    int64_t others = 0;
    int64_t least = (group->count * NEARLY_ALL_PERCENT + 99) / 100;
    out->count = 0;
    out->hardware = false;
    if (group->count < LEAST_REPORTS)
        return CH_OK;
    enum ch_status status = store_count_others(store, group->id, &others);
    struct comparing comparing = { .group = group, .others = others, .out = out };
    for (size_t i = 0; i < KIND_COUNT && status == CH_OK; i++) {
        struct store_values asked = { .kind = (int)kinds[i].facet,
                                      .limit = VALUES_OF_A_KIND,
                                      .elsewhere = true,
                                      .least = least };
        if (kinds[i].implied)
            continue;
        comparing.kind = &kinds[i];
        status =
            store_list_values(store, group->id, &asked, take_common_value, &comparing);
    }
    if (status == CH_OK && comparing.host[0] != 0)
        status = store_list_lone_hosts(store, group->project, suspect_host, &comparing);
    return status;
}

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
