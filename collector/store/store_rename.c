// SPDX-License-Identifier: Apache-2.0
//
// Reports that were named get their title and their key, and move to the group of that
// key. What people decided about the group that they leave goes with them; the figures
// of reports that retention removed follow the newest one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/store/store_internal.h"
#include "collector/store/store_move.h"
#include "collector/store/store_symbolization.h"
#include "collector/store/store_tally.h"

enum {
    LATER_MS = 500,    // until a report is tried again that waits for others
    NEWS_MS = 3600000, // how old a report may be that a group is new by
};

// decision is a group with what people decided about it.
struct decision {
    int64_t number; // 0: there is no such group
    char id[ENTRY_GROUP_SIZE];
    char title[sizeof(((struct entry *)NULL)->title)];
    char status[16];
    char release[sizeof(((struct entry *)NULL)->release)];
    int64_t time_ms;
    char note[STORE_NOTE_SIZE];
    char assignee[STORE_ASSIGNEE_SIZE];
};

// renamed is a report on its way to its new group.
struct renamed {
    const struct store_named *named;
    struct entry *entry;
    bool found; // it is still in the store
    bool waits; // for the own reports of the group that it was merged into
    int64_t old_number;
    char old_id[ENTRY_GROUP_SIZE];    // of the group it leaves
    char old_key[ENTRY_GROUP_SIZE];   // its own until now
    char first_key[ENTRY_GROUP_SIZE]; // that of version 1; empty: old_key is
    int64_t target;
    int64_t target_count; // of reports in the target, with those of its run
};

struct renaming {
    struct renamed *all;
    struct renamed **order; // those that move, by key and by the group they leave
    size_t count;
    size_t moving;
    struct store_tally tally;
    struct text numbers;
    struct text left; // groups that lost reports
    struct text lost; // facets that only they had
};

static void take_renamed(void *context, const struct sql_row *row)
{
    struct renamed *renamed = context;
    renamed->found = true;
    renamed->old_number = sql_column_number(row, "group_number");
    entry_copy(renamed->old_id, sizeof(renamed->old_id),
               sql_column_text(row, "group_id"));
    entry_copy(renamed->old_key, sizeof(renamed->old_key),
               sql_column_text(row, "fingerprint"));
    entry_copy(renamed->first_key, sizeof(renamed->first_key),
               sql_column_text(row, "fingerprint1"));
    // A transaction that is tried again finds the project set.
    if (strcmp(renamed->entry->project, sql_column_text(row, "project")) != 0)
        entry_set_project(renamed->entry, sql_column_text(row, "project"));
}

static void take_id(void *context, const struct sql_row *row)
{
    entry_copy(context, ENTRY_GROUP_SIZE, sql_column_text(row, "target"));
}

static void take_decision(void *context, const struct sql_row *row)
{
    struct decision *out = context;
    out->number = sql_column_number(row, "number");
    entry_copy(out->id, sizeof(out->id), sql_column_text(row, "fingerprint"));
    entry_copy(out->title, sizeof(out->title), sql_column_text(row, "title"));
    entry_copy(out->status, sizeof(out->status), sql_column_text(row, "status"));
    entry_copy(out->release, sizeof(out->release),
               sql_column_text(row, "status_release"));
    out->time_ms = sql_column_number(row, "status_time");
    entry_copy(out->note, sizeof(out->note), sql_column_text(row, "note"));
    entry_copy(out->assignee, sizeof(out->assignee), sql_column_text(row, "assignee"));
}

static enum ch_status find_renamed(struct sql *sql, struct renaming *renaming)
{
    for (size_t i = 0; i < renaming->count; i++) {
        struct renamed *renamed = &renaming->all[i];
        struct sql_value number = sql_number(renamed->named->report);
        if (renamed->entry != NULL)
            sql_queue(sql, STORE_RENAME_FIND, &number, 1, take_renamed, renamed);
    }
    return sql_flush(sql);
}

// keep_merged keeps a report that people merged into a group with the reports of that
// group, wherever these went. While they are still to be keyed, it waits.
static enum ch_status keep_merged(struct sql *sql, struct renamed *renamed)
{
    int64_t pending = 0;
    char heir[ENTRY_GROUP_SIZE];
    entry_copy(heir, sizeof(heir), renamed->old_id);
    struct sql_value of[] = { sql_number(renamed->old_number),
                              sql_text(renamed->old_id) };
    sql_queue(sql, STORE_RENAME_PENDING, of, 2, sql_take_number, &pending);
    sql_queue(sql, STORE_KEY_FIND, &of[1], 1, take_id, heir);
    enum ch_status status = sql_flush(sql);
    renamed->waits = pending != 0;
    if (status != CH_OK || renamed->waits || strcmp(heir, renamed->entry->group) == 0)
        return status;
    struct sql_value ids[] = { sql_text(renamed->entry->group), sql_text(heir) };
    sql_queue(sql, STORE_RENAME_MERGE, ids, 2, NULL, NULL);
    sql_queue(sql, STORE_RENAME_MOVE, ids, 2, NULL, NULL);
    return sql_flush(sql);
}

static int by_new_key(const void *a, const void *b)
{
    const struct renamed *x = *(struct renamed *const *)a;
    const struct renamed *y = *(struct renamed *const *)b;
    int order = strcmp(x->entry->group, y->entry->group);
    if (order == 0)
        order = strcmp(x->old_id, y->old_id);
    return order != 0 ? order : (x > y) - (x < y);
}

static enum ch_status choose_moving(struct sql *sql, struct renaming *renaming)
{
    for (size_t i = 0; i < renaming->count; i++) {
        struct renamed *renamed = &renaming->all[i];
        enum ch_status status = CH_OK;
        if (renamed->entry == NULL || !renamed->found)
            continue;
        if (strcmp(renamed->old_key, renamed->old_id) != 0 &&
            strcmp(renamed->old_key, renamed->entry->group) != 0)
            status = keep_merged(sql, renamed);
        if (status != CH_OK)
            return status;
        if (renamed->waits)
            continue;
        renaming->order[renaming->moving++] = renamed;
        store_list_append(&renaming->numbers, renamed->named->report);
        store_list_append(&renaming->left, renamed->old_number);
    }
    qsort(renaming->order, renaming->moving, sizeof(struct renamed *), by_new_key);
    return CH_OK;
}

static void leave_groups(struct sql *sql, struct renaming *renaming)
{
    struct sql_value list = store_list_end(sql, &renaming->numbers);
    sql_queue(sql, STORE_LOSE_GROUPS, &list, 1, NULL, NULL);
    sql_queue(sql, STORE_LOSE_DAYS, &list, 1, NULL, NULL);
    store_lose_facets(sql, &list, &renaming->lost); // while their marks are there
    sql_queue(sql, STORE_REMOVE_MARKS, &list, 1, NULL, NULL);
}

// run_end is the index after the reports that move from one group to another one.
static size_t run_end(const struct renaming *renaming, size_t start)
{
    size_t end = start;
    while (end < renaming->moving &&
           strcmp(renaming->order[end]->old_id, renaming->order[start]->old_id) == 0 &&
           strcmp(renaming->order[end]->entry->group,
                  renaming->order[start]->entry->group) == 0)
        end++;
    return end;
}

static void take_target(void *context, const struct sql_row *row)
{
    struct renamed *renamed = context;
    renamed->target = sql_column_number(row, "number");
    renamed->target_count = sql_column_number(row, "count");
}

static void enter_group(struct sql *sql, struct renaming *renaming, size_t start,
                        size_t end)
{
    const struct renamed *first = renaming->order[start];
    const struct entry *newest = first->entry;
    int64_t first_ms = newest->time_ms;
    for (size_t i = start; i < end; i++) {
        const struct entry *entry = renaming->order[i]->entry;
        first_ms = entry->time_ms < first_ms ? entry->time_ms : first_ms;
        newest = entry->time_ms >= newest->time_ms ? entry : newest;
    }
    const struct store_gain gain = { .entry = newest,
                                     .decided = first->old_id,
                                     .count = (int64_t)(end - start),
                                     .first_ms = first_ms,
                                     .last_ms = newest->time_ms };
    for (size_t i = start; i < end; i++)
        renaming->order[i]->target = 0;
    store_gain_group(sql, &gain, take_target, renaming->order[start]);
}

static enum ch_status enter_groups(struct sql *sql, struct renaming *renaming)
{
    for (size_t start = 0; start < renaming->moving;) {
        size_t end = run_end(renaming, start);
        enter_group(sql, renaming, start, end);
        start = end;
    }
    enum ch_status status = sql_flush(sql);
    for (size_t i = 1; i < renaming->moving; i++) {
        if (renaming->order[i]->target == 0)
            renaming->order[i]->target = renaming->order[i - 1]->target;
    }
    return status;
}

static void rename_report(struct sql *sql, const struct renamed *renamed)
{
    const struct entry *entry = renamed->entry;
    const char *first =
        renamed->first_key[0] != 0 ? renamed->first_key : renamed->old_key;
    struct sql_value values[] = {
        sql_number(renamed->named->report),
        sql_number(renamed->target),
        sql_text(entry->group),
        sql_text(first),
        sql_text(entry->title),
        sql_text(entry->summary),
    };
    struct sql_value keys[] = { sql_text(renamed->old_key), sql_text(entry->group),
                                sql_number(entry->time_ms), sql_number(0) };
    sql_queue(sql, STORE_RENAME_REPORT, values, 6, NULL, NULL);
    store_queue_marks(sql, renamed->named->report, entry);
    if (strcmp(renamed->old_key, entry->group) != 0)
        sql_queue(sql, STORE_KEY_SET, keys, 4, NULL, NULL);
    keys[0] = sql_text(first);
    if (strcmp(first, renamed->old_key) != 0)
        sql_queue(sql, STORE_KEY_SET, keys, 4, NULL, NULL);
    for (size_t i = 0; i < entry->nameless_count; i++) {
        struct sql_value nameless[] = { sql_text(entry->nameless[i]),
                                        sql_number(renamed->named->report) };
        sql_queue(sql, STORE_NAMELESS_ADD, nameless, 2, NULL, NULL);
    }
}

static void note_history(struct sql *sql, const struct decision *group,
                         const char *kind, const char *other, const char *detail,
                         int64_t count)
{
    struct sql_value values[] = { sql_text(group->id), sql_number(timestamp_now()),
                                  sql_text(kind),      sql_text(other),
                                  sql_text(detail),    sql_number(count) };
    sql_queue(sql, STORE_HISTORY_ADD, values, 6, NULL, NULL);
}

static void note_decision(struct sql *sql, const struct decision *group,
                          const struct decision *of)
{
    struct text CH_CLEANUP(text_deinit) detail = { 0 };
    text_appendf(&detail, "%s%s%s", of->status, of->release[0] != 0 ? " in " : "",
                 of->release + (of->release[0] == STORE_RESOLVED_IN));
    if (of->assignee[0] != 0)
        text_appendf(&detail, ", assigned to %s", of->assignee);
    if (of->note[0] != 0)
        text_appendf(&detail, ": %s", of->note);
    if (text_ok(&detail))
        note_history(sql, group, "decision", of->id, detail.bytes, 0);
}

static bool is_decided(const struct decision *group)
{
    return group->time_ms != 0 || group->note[0] != 0 || group->assignee[0] != 0;
}

static bool same_decision(const struct decision *a, const struct decision *b)
{
    return strcmp(a->status, b->status) == 0 && strcmp(a->release, b->release) == 0 &&
           strcmp(a->note, b->note) == 0 && strcmp(a->assignee, b->assignee) == 0;
}

// join_decisions gives the target the later of two decisions, and its history the
// other one. A note and an assignee that only one group has are kept.
static void join_decisions(struct sql *sql, const struct decision *source,
                           struct decision *target)
{
    if (!is_decided(source) || same_decision(source, target))
        return;
    struct decision joined = *target;
    bool later = source->time_ms > target->time_ms;
    const struct decision *wins = later ? source : target;
    const struct decision *yields = later ? target : source;
    memcpy(joined.status, wins->status, sizeof(joined.status));
    memcpy(joined.release, wins->release, sizeof(joined.release));
    joined.time_ms = wins->time_ms;
    memcpy(joined.note, wins->note[0] != 0 ? wins->note : yields->note,
           sizeof(joined.note));
    memcpy(joined.assignee, wins->assignee[0] != 0 ? wins->assignee : yields->assignee,
           sizeof(joined.assignee));
    if (is_decided(yields) && !same_decision(yields, &joined))
        note_decision(sql, target, yields);
    if (!same_decision(target, &joined) || target->time_ms != joined.time_ms) {
        struct sql_value values[] = {
            sql_number(target->number), sql_text(joined.status),
            sql_text(joined.release),   sql_number(joined.time_ms),
            sql_text(joined.note),      sql_text(joined.assignee)
        };
        sql_queue(sql, STORE_RENAME_DECIDE, values, 6, NULL, NULL);
    }
    *target = joined;
}

// releases_seen is the releases of a group that was resolved.
struct releases_seen {
    struct {
        char name[sizeof(((struct entry *)NULL)->release)];
        int64_t time_ms;
        bool back; // it shows that the group is back
    } list[STORE_RELEASES];
    size_t count;
};

static void see_release(struct releases_seen *seen, const char *name, int64_t time_ms)
{
    if (seen->count == STORE_RELEASES)
        return;
    entry_copy(seen->list[seen->count].name, sizeof(seen->list[0].name), name);
    seen->list[seen->count++].time_ms = time_ms;
}

static void take_seen_release(void *context, const struct sql_row *row)
{
    // Without a time, only an order of releases says that the group is back.
    see_release(context, sql_column_text(row, "value"), INT64_MIN);
}

// regress_renamed reopens a resolved group that the reports of a run, or those it has,
// show to be back.
static enum ch_status regress_renamed(struct sql *sql, struct renaming *renaming,
                                      size_t start, size_t end,
                                      const struct decision *group)
{
    struct releases_seen seen = { .count = 0 };
    const struct store_resolved resolved = { .group = group->number,
                                             .release = group->release,
                                             .time_ms = group->time_ms };
    const struct renamed *first = renaming->order[start];
    struct sql_value number = sql_number(group->number);
    if (strcmp(group->status, "resolved") != 0)
        return CH_OK;
    for (size_t i = start; i < end; i++)
        see_release(&seen, renaming->order[i]->entry->release,
                    renaming->order[i]->entry->time_ms);
    sql_queue(sql, STORE_TRIAGE_NEWEST, &number, 1, take_seen_release, &seen);
    enum ch_status status = sql_flush(sql);
    for (size_t i = 0; i < seen.count; i++)
        store_ask_regression(sql, &resolved, seen.list[i].name, seen.list[i].time_ms,
                             &seen.list[i].back);
    if (status == CH_OK)
        status = sql_flush(sql);
    size_t at = 0;
    while (at < seen.count && !seen.list[at].back)
        at++;
    if (status != CH_OK || at == seen.count)
        return status;
    struct sql_value values[] = { number, sql_text(seen.list[at].name),
                                  sql_number(timestamp_now()) };
    sql_queue(sql, STORE_REGRESS, values, 3, NULL, NULL);
    store_queue_alert(sql, "regressed", group->id, first->named->report, first->entry,
                      seen.list[at].name);
    return CH_OK;
}

// settle_run completes the move of the reports of one group to another one.
static enum ch_status settle_run(struct sql *sql, struct renaming *renaming,
                                 size_t start, size_t end)
{
    struct decision source = { 0 };
    struct decision target = { 0 };
    const struct renamed *first = renaming->order[start];
    struct sql_value numbers[] = { sql_number(first->old_number),
                                   sql_number(first->target) };
    for (size_t i = start; i < end; i++) {
        rename_report(sql, renaming->order[i]);
        store_tally_add(&renaming->tally, first->target, renaming->order[i]->entry);
    }
    sql_queue(sql, STORE_RENAME_RELEASE, &numbers[0], 1, NULL, NULL);
    sql_queue(sql, STORE_RENAME_RELEASE, &numbers[1], 1, NULL, NULL);
    sql_queue(sql, STORE_RENAME_DECISION, &numbers[0], 1, take_decision, &source);
    sql_queue(sql, STORE_RENAME_DECISION, &numbers[1], 1, take_decision, &target);
    enum ch_status status = sql_flush(sql);
    if (status != CH_OK || first->old_number == first->target)
        return status;
    join_decisions(sql, &source, &target);
    note_history(sql, &target, "moved", source.id, source.title,
                 (int64_t)(end - start));
    if (first->target_count == (int64_t)(end - start) && !is_decided(&target) &&
        first->entry->time_ms > timestamp_now() - NEWS_MS)
        store_queue_alert(sql, "new", target.id, first->named->report, first->entry,
                          "");
    return regress_renamed(sql, renaming, start, end, &target);
}

// end_group ends a group whose last report moved: the figures of reports that were
// removed, what was merged into it, and its history follow the newest.
static enum ch_status end_group(struct sql *sql, const struct decision *left)
{
    char heir[ENTRY_GROUP_SIZE] = "";
    struct decision target = { 0 };
    struct sql_value id = sql_text(left->id);
    sql_queue(sql, STORE_KEY_FIND, &id, 1, take_id, heir);
    enum ch_status status = sql_flush(sql);
    struct sql_value to = sql_text(heir);
    if (status == CH_OK && heir[0] != 0)
        sql_queue(sql, STORE_TRIAGE_FIND, &to, 1, sql_take_number, &target.number);
    if (status == CH_OK)
        status = sql_flush(sql);
    if (status != CH_OK || target.number == 0 || target.number == left->number)
        return status;
    struct sql_value ids[] = { id, to };
    store_move_end(sql, left->number, target.number);
    sql_queue(sql, STORE_MERGE_FORWARD, ids, 2, NULL, NULL);
    sql_queue(sql, STORE_KEY_FORWARD, ids, 2, NULL, NULL);
    sql_queue(sql, STORE_HISTORY_FORWARD, ids, 2, NULL, NULL);
    return sql_flush(sql);
}

static enum ch_status end_groups(struct sql *sql, struct renaming *renaming)
{
    int64_t last = 0;
    for (size_t i = 0; i < renaming->moving; i++) {
        const struct renamed *renamed = renaming->order[i];
        struct decision left = { 0 };
        int64_t kept = 1;
        struct sql_value number = sql_number(renamed->old_number);
        if (renamed->old_number == renamed->target || renamed->old_number == last)
            continue;
        last = renamed->old_number;
        sql_queue(sql, STORE_RENAME_LEFT, &number, 1, sql_take_number, &kept);
        sql_queue(sql, STORE_RENAME_DECISION, &number, 1, take_decision, &left);
        enum ch_status status = sql_flush(sql);
        if (status == CH_OK && kept <= 0 && left.number != 0)
            status = end_group(sql, &left);
        if (status != CH_OK)
            return status;
    }
    return CH_OK;
}

static void end_jobs(struct sql *sql, struct renaming *renaming)
{
    for (size_t i = 0; i < renaming->count; i++) {
        const struct renamed *renamed = &renaming->all[i];
        struct sql_value done[] = { sql_number(renamed->named->report),
                                    sql_number(renamed->named->turn) };
        struct sql_value later[] = { sql_number(renamed->named->report),
                                     sql_number(timestamp_now() + LATER_MS) };
        if (renamed->waits)
            sql_queue(sql, STORE_JOB_LATER, later, 2, NULL, NULL);
        else if (renamed->entry == NULL)
            sql_queue(sql, STORE_JOB_GIVE_UP, done, 2, NULL, NULL);
        else
            sql_queue(sql, STORE_JOB_DONE, done, 2, NULL, NULL);
    }
}

// move_renamed moves the reports that move, and their figures.
static enum ch_status move_renamed(struct sql *sql, struct renaming *renaming)
{
    leave_groups(sql, renaming);
    enum ch_status status = enter_groups(sql, renaming);
    for (size_t start = 0; start < renaming->moving && status == CH_OK;) {
        size_t end = run_end(renaming, start);
        status = settle_run(sql, renaming, start, end);
        start = end;
    }
    if (status == CH_OK)
        status = store_tally_queue(&renaming->tally, sql);
    if (status != CH_OK)
        return status;
    struct sql_value left = store_list_end(sql, &renaming->left);
    struct sql_value lost = store_list_end(sql, &renaming->lost);
    sql_queue(sql, STORE_RENAME_SEEN, &left, 1, NULL, NULL);
    sql_queue(sql, STORE_DROP_FACETS, &lost, 1, NULL, NULL);
    status = end_groups(sql, renaming);
    store_remove_empty(sql, &left);
    return status;
}

static enum ch_status rename_all(struct sql *sql, void *context)
{
    struct renaming *renaming = context;
    renaming->moving = 0;
    text_clear(&renaming->numbers);
    text_clear(&renaming->left);
    text_clear(&renaming->lost);
    store_tally_clear(&renaming->tally);
    for (size_t i = 0; i < renaming->count; i++)
        renaming->all[i] = (struct renamed){ .named = renaming->all[i].named,
                                             .entry = renaming->all[i].named->entry };
    enum ch_status status = find_renamed(sql, renaming);
    if (status == CH_OK)
        status = choose_moving(sql, renaming);
    if (status == CH_OK && renaming->moving != 0)
        status = move_renamed(sql, renaming);
    if (status != CH_OK)
        return status;
    end_jobs(sql, renaming);
    return sql_flush(sql);
}

enum ch_status store_rename(struct store *store, const struct store_named *named,
                            size_t count, char error[STORE_ERROR_SIZE])
{
    struct renaming renaming = { .all = calloc(count, sizeof(struct renamed)),
                                 .order = calloc(count, sizeof(struct renamed *)),
                                 .count = count };
    struct store_job job = { .what = "rename reports",
                             .alone = true,
                             .work = rename_all,
                             .context = &renaming };
    enum ch_status status = CH_ERR_NO_MEMORY;
    snprintf(error, STORE_ERROR_SIZE, "cannot rename reports: out of memory");
    for (size_t i = 0; renaming.all != NULL && i < count; i++)
        renaming.all[i].named = &named[i];
    if (renaming.all != NULL && renaming.order != NULL)
        status = store_transact(store, &job, error);
    free(renaming.all);
    free(renaming.order);
    store_tally_deinit(&renaming.tally);
    text_deinit(&renaming.numbers);
    text_deinit(&renaming.left);
    text_deinit(&renaming.lost);
    return status;
}
