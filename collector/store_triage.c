// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "collector/moment.h"
#include "collector/release_order.h"
#include "collector/store_internal.h"

// A group as decisions find it.
struct decided {
    int64_t number; // 0: there is none
    char id[ENTRY_GROUP_SIZE];
    char status[16];
    char release[sizeof(((struct entry *)NULL)->release)];
    char note[STORE_NOTE_SIZE];
    char assignee[STORE_ASSIGNEE_SIZE];
};

struct deciding {
    const char *id;
    const struct store_decision *decision;
    struct decided group;
    char newest[sizeof(((struct entry *)NULL)->release)];
};

static void take_group(void *context, const struct sql_row *row)
{
    struct decided *group = context;
    group->number = sql_row_number(row, 0);
    entry_copy(group->status, sizeof(group->status), sql_row_text(row, 1));
    entry_copy(group->release, sizeof(group->release), sql_row_text(row, 2));
    entry_copy(group->note, sizeof(group->note), sql_row_text(row, 3));
    entry_copy(group->assignee, sizeof(group->assignee), sql_row_text(row, 4));
    entry_copy(group->id, sizeof(group->id), sql_row_text(row, 5));
}

static enum ch_status find(struct sql *sql, const char *id, struct decided *out)
{
    *out = (struct decided){ 0 };
    struct sql_value value = sql_text(id);
    sql_queue(sql, STORE_TRIAGE_FIND, &value, 1, take_group, out);
    enum ch_status status = sql_flush(sql);
    return status == CH_OK && out->number == 0 ? CH_ERR_NOT_FOUND : status;
}

static void keep_newest(void *context, const struct sql_row *row)
{
    struct deciding *deciding = context;
    int order = 0;
    if (!release_order(sql_row_text(row, 0), deciding->newest, &order) || order > 0)
        entry_copy(deciding->newest, sizeof(deciding->newest), sql_row_text(row, 0));
}

// apply changes the group as decided; a new status says in which release it holds.
static void apply(struct deciding *deciding)
{
    const struct store_decision *decision = deciding->decision;
    struct decided *group = &deciding->group;
    if (decision->note != NULL)
        entry_copy(group->note, sizeof(group->note), decision->note);
    if (decision->assignee != NULL)
        entry_copy(group->assignee, sizeof(group->assignee), decision->assignee);
    if (decision->status == NULL)
        return;
    const char *release = "";
    if (strcmp(decision->status, "resolved") == 0)
        release = decision->release != NULL ? decision->release : deciding->newest;
    entry_copy(group->release, sizeof(group->release), release);
    entry_copy(group->status, sizeof(group->status), decision->status);
}

static enum ch_status decide(struct sql *sql, void *context)
{
    struct deciding *deciding = context;
    struct decided *group = &deciding->group;
    deciding->newest[0] = 0;
    enum ch_status status = find(sql, deciding->id, group);
    if (status != CH_OK)
        return status;
    struct sql_value number = sql_number(group->number);
    sql_queue(sql, STORE_TRIAGE_NEWEST, &number, 1, keep_newest, deciding);
    status = sql_flush(sql);
    if (status != CH_OK)
        return status;
    apply(deciding);
    struct sql_value values[] = { number,
                                  sql_text(group->status),
                                  sql_text(group->release),
                                  sql_number(moment_now()),
                                  sql_text(group->note),
                                  sql_text(group->assignee) };
    sql_queue(sql, STORE_TRIAGE_SET, values, 6, NULL, NULL);
    return sql_flush(sql);
}

enum ch_status store_decide(struct store *store, const char *id,
                            const struct store_decision *decision,
                            char error[STORE_ERROR_SIZE])
{
    struct deciding deciding = { .id = id, .decision = decision };
    struct store_job job = {
        .what = "keep the decision", .alone = true, .work = decide, .context = &deciding
    };
    return store_transact(store, &job, error);
}

struct merging {
    const char *from;
    const char *into;
};

static enum ch_status merge_found(struct sql *sql, const struct decided *from,
                                  const struct decided *into)
{
    static const enum store_statement by_number[] = {
        STORE_MERGE_FIGURES, STORE_MERGE_DAYS,     STORE_MERGE_FACETS,
        STORE_MERGE_REPORTS, STORE_MERGE_END_DAYS, STORE_MERGE_END_FACETS,
        STORE_MERGE_END,
    };
    enum { OF_BOTH = 4 }; // the first of them
    struct sql_value numbers[] = { sql_number(from->number), sql_number(into->number) };
    for (size_t i = 0; i < sizeof(by_number) / sizeof(by_number[0]); i++)
        sql_queue(sql, by_number[i], numbers, i < OF_BOTH ? 2 : 1, NULL, NULL);
    struct sql_value ids[] = { sql_text(from->id), sql_text(into->id) };
    sql_queue(sql, STORE_MERGE_FORWARD, ids, 2, NULL, NULL);
    sql_queue(sql, STORE_MERGE_REMEMBER, ids, 2, NULL, NULL);
    return sql_flush(sql);
}

static enum ch_status merge(struct sql *sql, void *context)
{
    const struct merging *merging = context;
    struct decided from;
    struct decided into;
    enum ch_status status = find(sql, merging->from, &from);
    if (status == CH_OK)
        status = find(sql, merging->into, &into);
    if (status != CH_OK)
        return status;
    if (from.number == into.number)
        return CH_ERR_MALFORMED;
    return merge_found(sql, &from, &into);
}

enum ch_status store_merge(struct store *store, const char *from, const char *into,
                           char error[STORE_ERROR_SIZE])
{
    struct merging merging = { .from = from, .into = into };
    struct store_job job = {
        .what = "merge the groups", .alone = true, .work = merge, .context = &merging
    };
    return store_transact(store, &job, error);
}

static void append_number(void *context, const struct sql_row *row)
{
    store_list_append(context, sql_row_number(row, 0));
}

// move_out gives the reports of a fingerprint in a group the new group, and moves what
// is counted of them.
static enum ch_status move_out(struct sql *sql, const char *fingerprint, int64_t group,
                               int64_t own)
{
    CH_CLEANUP(text_deinit) struct text numbers = { 0 };
    CH_CLEANUP(text_deinit) struct text groups = { 0 };
    struct sql_value values[] = { sql_text(fingerprint), sql_number(group),
                                  sql_number(own) };
    sql_queue(sql, STORE_SPLIT_NUMBERS, values, 2, append_number, &numbers);
    enum ch_status status = sql_flush(sql);
    if (status != CH_OK)
        return status;
    struct sql_value moved = store_list_end(sql, &numbers);
    sql_queue(sql, STORE_LOSE_GROUPS, &moved, 1, NULL, NULL);
    sql_queue(sql, STORE_LOSE_DAYS, &moved, 1, NULL, NULL);
    sql_queue(sql, STORE_LOSE_FACETS, &moved, 1, NULL, NULL);
    sql_queue(sql, STORE_SPLIT_REPORTS, values, 3, NULL, NULL);
    sql_queue(sql, STORE_GAIN_DAYS, &moved, 1, NULL, NULL);
    sql_queue(sql, STORE_GAIN_FACETS, &moved, 1, NULL, NULL);
    store_list_append(&groups, group);
    struct sql_value left = store_list_end(sql, &groups);
    sql_queue(sql, STORE_SEE_AGAIN, &left, 1, NULL, NULL);
    sql_queue(sql, STORE_DROP_FACETS, &left, 1, NULL, NULL);
    store_remove_empty(sql, &left);
    return sql_flush(sql);
}

static enum ch_status split(struct sql *sql, void *context)
{
    const char *fingerprint = context;
    struct decided group;
    int64_t merged = 0;
    int64_t own = 0;
    // Where its reports are is asked before that is forgotten.
    enum ch_status status = find(sql, fingerprint, &group);
    if (status != CH_OK && status != CH_ERR_NOT_FOUND)
        return status;
    struct sql_value values[] = { sql_text(fingerprint), sql_number(group.number) };
    sql_queue(sql, STORE_SPLIT_FORGET, values, 1, sql_take_number, &merged);
    status = sql_flush(sql);
    if (status != CH_OK)
        return status;
    if (merged == 0)
        return CH_ERR_NOT_FOUND;
    sql_queue(sql, STORE_SPLIT_GROUP, values, 2, sql_take_number, &own);
    status = sql_flush(sql);
    // Without a report of it there is nothing to move: its group comes with the next.
    return status == CH_OK && own != 0 ? move_out(sql, fingerprint, group.number, own)
                                       : status;
}

enum ch_status store_split(struct store *store, const char *fingerprint,
                           char error[STORE_ERROR_SIZE])
{
    struct store_job job = { .what = "split the group",
                             .alone = true,
                             .work = split,
                             .context = (void *)(uintptr_t)fingerprint };
    return store_transact(store, &job, error);
}
