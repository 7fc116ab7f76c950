// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/group_facts.h"

#include <string.h>

#include "collector/query/store_values.h"

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
