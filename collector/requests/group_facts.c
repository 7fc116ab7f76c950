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
    { FACET_HOSTNAME, "host", "machine" },
    { FACET_RELEASE, "release", "release" },
    { FACET_ENVIRONMENT, "environment", "environment" },
    { FACET_EXECUTABLE, "program", "program" },
    { FACET_KERNEL, "kernel", "kernel" },
    { FACET_PROCESSOR, "processor", "processor" },
    { FACET_UPTIME, "uptime", "ran for" },
    { FACET_THREAD, "thread", "thread" },
    { FACET_ADDRESS, "address", "address" },
    { FACET_DEPTH, "depth", "stack" },
    { FACET_REGISTER, "register", "register" },
    { FACET_ARGUMENT, "argument", "argument" },
    { FACET_TAG, "tag", "tag" },
};
enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

const struct group_fact_kind *group_fact_kinds(size_t *out_count)
{
    *out_count = KIND_COUNT;
    return kinds;
}

// comparing is a group while its values are visited.
struct comparing {
    const struct store_group *group;
    const struct group_fact_kind *kind;
    int64_t others; // reports of other groups
    struct group_facts *out;
};

// take_common_value keeps the facts in the order of their share elsewhere.
static void take_common_value(void *context, const struct store_value *value)
{
    struct comparing *comparing = context;
    struct group_facts *facts = comparing->out;
    double elsewhere = comparing->others > 0
                           ? (double)value->elsewhere / (double)comparing->others
                           : 1;
    size_t at = facts->count;
    if (elsewhere > ELSEWHERE_MOST)
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
    facts->hardware |= comparing->kind->facet == FACET_HOSTNAME &&
                       elsewhere <= HARDWARE_ELSEWHERE_MOST;
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
    enum ch_status status =
        store_count_others(store, group->id, group->project, &others);
    struct comparing comparing = { .group = group, .others = others, .out = out };
    for (size_t i = 0; i < KIND_COUNT && status == CH_OK; i++) {
        struct store_values asked = { .kind = (int)kinds[i].facet,
                                      .limit = VALUES_OF_A_KIND,
                                      .elsewhere = true,
                                      .least = least,
                                      .project = group->project };
        comparing.kind = &kinds[i];
        status =
            store_list_values(store, group->id, &asked, take_common_value, &comparing);
    }
    return status;
}
