// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/entry/release_order.h"
#include "collector/store/store_move.h"

enum { HISTORY_DETAIL = STORE_COMMENT_SIZE };

// decided is a group as a decision finds it.
struct decided {
    int64_t number; // 0: there is none
    char id[ENTRY_GROUP_SIZE];
    char status[16];
    char release[sizeof(((struct entry *)NULL)->release)];
    char note[STORE_NOTE_SIZE];
    char assignee[STORE_ASSIGNEE_SIZE];
    int64_t version;
    int64_t count;
    int64_t machines;
    int64_t until_count;
    int64_t until_machines;
    int64_t until_ms;
    char project[ENTRY_PROJECT_SIZE];
};

struct deciding {
    const char *id;
    const struct store_decision *decision;
    struct decided group;
    char newest[sizeof(((struct entry *)NULL)->release)];
};

static void take_triaged_group(void *context, const struct sql_row *row)
{
    struct decided *group = context;
    group->number = sql_column_number(row, "number");
    entry_copy(group->status, sizeof(group->status), sql_column_text(row, "status"));
    entry_copy(group->release, sizeof(group->release),
               sql_column_text(row, "status_release"));
    entry_copy(group->note, sizeof(group->note), sql_column_text(row, "note"));
    entry_copy(group->assignee, sizeof(group->assignee),
               sql_column_text(row, "assignee"));
    entry_copy(group->id, sizeof(group->id), sql_column_text(row, "fingerprint"));
    group->version = sql_column_number(row, "version");
    group->count = sql_column_number(row, "count");
    group->machines = sql_column_number(row, "machines");
    group->until_count = sql_column_number(row, "until_count");
    group->until_machines = sql_column_number(row, "until_machines");
    group->until_ms = sql_column_number(row, "until_time");
    entry_copy(group->project, sizeof(group->project), sql_column_text(row, "project"));
}

static enum ch_status find_group_to_triage(struct sql *sql, const char *id,
                                           struct decided *out)
{
    *out = (struct decided){ 0 };
    struct sql_value value = sql_text(id);
    sql_queue(sql, STORE_TRIAGE_FIND, &value, 1, take_triaged_group, out);
    enum ch_status status = sql_flush(sql);
    return status == CH_OK && out->number == 0 ? CH_ERR_NOT_FOUND : status;
}

static void keep_newest(void *context, const struct sql_row *row)
{
    struct deciding *deciding = context;
    const char *release = sql_column_text(row, "value");
    int order = 0;
    // Releases with a declared place come last, in that order.
    if (sql_column_number(row, "place") >= 0 ||
        !release_order(release, deciding->newest, &order) || order > 0)
        entry_copy(deciding->newest, sizeof(deciding->newest), release);
}

// apply_triage changes the group as decided; a new status gets the release in which it
// holds.
static void apply_triage(struct deciding *deciding)
{
    const struct store_decision *decision = deciding->decision;
    struct decided *group = &deciding->group;
    if (decision->note != NULL)
        entry_copy(group->note, sizeof(group->note), decision->note);
    if (decision->assignee != NULL)
        entry_copy(group->assignee, sizeof(group->assignee), decision->assignee);
    if (decision->status == NULL)
        return;
    char release[sizeof(group->release) + 1] = "";
    bool resolved = strcmp(decision->status, "resolved") == 0;
    bool ignored = strcmp(decision->status, "ignored") == 0;
    if (resolved && decision->release != NULL)
        (void)snprintf(release, sizeof(release), "%c%s", STORE_RESOLVED_IN,
                       decision->release);
    else if (resolved)
        entry_copy(release, sizeof(release), deciding->newest);
    entry_copy(group->release, sizeof(group->release), release);
    entry_copy(group->status, sizeof(group->status), decision->status);
    group->until_count = ignored && decision->more_reports > 0
                             ? group->count + decision->more_reports
                             : 0;
    group->until_machines = ignored && decision->more_machines > 0
                                ? group->machines + decision->more_machines
                                : 0;
    group->until_ms = ignored ? decision->until_ms : 0;
}

// note_change adds a line to the history of the group, if there is anything to say.
static void note_change(struct sql *sql, const struct deciding *deciding,
                        const char *kind, const char *detail)
{
    const char *who = deciding->decision->who;
    char cut[HISTORY_DETAIL];
    if (detail == NULL)
        return;
    entry_copy(cut, sizeof(cut), detail);
    struct sql_value values[] = { sql_text(deciding->group.id),
                                  sql_number(timestamp_now()),
                                  sql_text(kind),
                                  sql_text(who != NULL ? who : ""),
                                  sql_text(cut),
                                  sql_number(1) };
    sql_queue(sql, STORE_HISTORY_ADD, values, 6, NULL, NULL);
}

// note_changes adds what differs from the group as it was.
static void note_changes(struct sql *sql, const struct deciding *deciding,
                         const struct decided *before)
{
    const struct decided *group = &deciding->group;
    bool itself = group->release[0] == STORE_RESOLVED_IN;
    struct text CH_CLEANUP(text_deinit) status = { 0 };
    text_append_string(&status, group->status);
    if (group->release[itself] != 0)
        text_appendf(&status, " %s %s", itself ? "in" : "after",
                     group->release + itself);
    if (group->until_count != 0)
        text_appendf(&status, " until report %lld", (long long)group->until_count);
    if (group->until_machines != 0)
        text_appendf(&status, " until machine %lld", (long long)group->until_machines);
    if (group->until_ms != 0)
        text_append_string(&status, " for a time");
    if (deciding->decision->status != NULL)
        note_change(sql, deciding, "status", text_ok(&status) ? status.bytes : NULL);
    if (strcmp(group->assignee, before->assignee) != 0)
        note_change(sql, deciding, "assignee", group->assignee);
    if (strcmp(group->note, before->note) != 0)
        note_change(sql, deciding, "note", group->note);
}

static enum ch_status decide_status(struct sql *sql, void *context)
{
    struct deciding *deciding = context;
    struct decided *group = &deciding->group;
    deciding->newest[0] = 0;
    enum ch_status status = find_group_to_triage(sql, deciding->id, group);
    if (status != CH_OK)
        return status;
    struct sql_value number = sql_number(group->number);
    sql_queue(sql, STORE_TRIAGE_NEWEST, &number, 1, keep_newest, deciding);
    status = sql_flush(sql);
    if (status != CH_OK)
        return status;
    const struct decided before = *group;
    if (deciding->decision->versioned && deciding->decision->version != group->version)
        return CH_ERR_MALFORMED;
    if (deciding->decision->comment != NULL)
        note_change(sql, deciding, "comment", deciding->decision->comment);
    if (deciding->decision->status == NULL && deciding->decision->note == NULL &&
        deciding->decision->assignee == NULL)
        return sql_flush(sql);
    apply_triage(deciding);
    struct sql_value values[] = { number,
                                  sql_text(group->status),
                                  sql_text(group->release),
                                  sql_number(timestamp_now()),
                                  sql_text(group->note),
                                  sql_text(group->assignee),
                                  sql_number(group->until_count),
                                  sql_number(group->until_machines),
                                  sql_number(group->until_ms) };
    sql_queue(sql, STORE_TRIAGE_SET, values, 9, NULL, NULL);
    note_changes(sql, deciding, &before);
    return sql_flush(sql);
}

enum ch_status store_decide(struct store *store, const char *id,
                            const struct store_decision *decision,
                            char error[STORE_ERROR_SIZE])
{
    struct deciding deciding = { .id = id, .decision = decision };
    struct store_job job = { .what = "keep the decision",
                             .alone = true,
                             .work = decide_status,
                             .context = &deciding };
    return store_transact(store, &job, error);
}

enum { MOVING_MS = 500 }; // how long a decision waits for another move

// merging is a merge of a group into another one, or a split of a fingerprint.
struct merging {
    const char *from;
    const char *into;
    const char *who; // NULL: nobody in particular
};

static void take_id_and_title(void *context, const struct sql_row *row)
{
    struct text *out = context;
    text_appendf(out, "%s (%s)", sql_column_text(row, "title"),
                 sql_column_text(row, "fingerprint"));
}

// note_move adds a line to the history of a group: what was merged or split, and by
// whom.
static enum ch_status note_move(struct sql *sql, const char *group, const char *kind,
                                int64_t other, const char *who)
{
    CH_CLEANUP(text_deinit) struct text detail = { 0 };
    struct sql_value number = sql_number(other);
    sql_queue(sql, STORE_RENAME_DECISION, &number, 1, take_id_and_title, &detail);
    enum ch_status status = sql_flush(sql);
    struct sql_value values[] = { sql_text(group),
                                  sql_number(timestamp_now()),
                                  sql_text(kind),
                                  sql_text(who != NULL ? who : ""),
                                  sql_text(text_string(&detail)),
                                  sql_number(1) };
    if (status == CH_OK)
        sql_queue(sql, STORE_HISTORY_ADD, values, 6, NULL, NULL);
    return status == CH_OK ? sql_flush(sql) : status;
}

static enum ch_status merge_groups(struct sql *sql, void *context)
{
    const struct merging *merging = context;
    struct decided from;
    struct decided into;
    enum ch_status status = find_group_to_triage(sql, merging->from, &from);
    if (status == CH_OK)
        status = find_group_to_triage(sql, merging->into, &into);
    if (status != CH_OK)
        return status;
    if (strcmp(from.project, into.project) != 0)
        return CH_ERR_NOT_FOUND;
    if (from.number == into.number)
        return CH_ERR_MALFORMED;
    struct sql_value ids[] = { sql_text(from.id), sql_text(into.id) };
    struct sql_value number = sql_number(from.number);
    sql_queue(sql, STORE_MERGE_FORWARD, ids, 2, NULL, NULL);
    sql_queue(sql, STORE_MERGE_REMEMBER, ids, 2, NULL, NULL);
    sql_queue(sql, STORE_SET_ASIDE, &number, 1, NULL, NULL);
    status = note_move(sql, into.id, "merged", from.number, merging->who);
    return status == CH_OK ? store_move_begin(sql, from.number, into.number, "")
                           : status;
}

// begin_triage_move runs a job that begins a move, once no other one is in progress,
// and takes the first step, which completes a small one. What is left, even of a step
// that failed, is moved in the background.
static enum ch_status begin_triage_move(struct store *store,
                                        const struct store_job *job,
                                        char error[STORE_ERROR_SIZE])
{
    char ignored[STORE_ERROR_SIZE];
    bool more = false;
    enum ch_status status = store_move_for(store, MOVING_MS, error);
    if (status == CH_OK)
        status = store_transact(store, job, error);
    enum ch_status stepped =
        status == CH_OK ? store_move(store, &more, ignored) : CH_OK;
    (void)stepped;
    return status;
}

enum ch_status store_merge(struct store *store, const char *from, const char *into,
                           const char *who, char error[STORE_ERROR_SIZE])
{
    struct merging merging = { .from = from, .into = into, .who = who };
    struct store_job job = { .what = "merge the groups",
                             .alone = true,
                             .work = merge_groups,
                             .context = &merging };
    return begin_triage_move(store, &job, error);
}

static enum ch_status split_group(struct sql *sql, void *context)
{
    const struct merging *splitting = context;
    const char *fingerprint = splitting->from;
    struct decided group;
    int64_t merged = 0;
    // Find where its reports are before the merge is forgotten.
    enum ch_status status = find_group_to_triage(sql, fingerprint, &group);
    if (status != CH_OK && status != CH_ERR_NOT_FOUND)
        return status;
    struct sql_value value = sql_text(fingerprint);
    sql_queue(sql, STORE_SPLIT_FORGET, &value, 1, sql_take_number, &merged);
    status = sql_flush(sql);
    if (status != CH_OK)
        return status;
    if (merged == 0)
        return CH_ERR_NOT_FOUND;
    struct sql_value past[] = { sql_text(group.id),
                                sql_number(timestamp_now()),
                                sql_text("split"),
                                sql_text(splitting->who != NULL ? splitting->who : ""),
                                value,
                                sql_number(1) };
    sql_queue(sql, STORE_HISTORY_ADD, past, 6, NULL, NULL);
    status = note_move(sql, fingerprint, "split from", group.number, splitting->who);
    return status == CH_OK ? store_move_begin(sql, group.number, 0, fingerprint)
                           : status;
}

enum ch_status store_split(struct store *store, const char *fingerprint,
                           const char *who, char error[STORE_ERROR_SIZE])
{
    struct merging splitting = { .from = fingerprint, .who = who };
    struct store_job job = { .what = "split the group",
                             .alone = true,
                             .work = split_group,
                             .context = &splitting };
    return begin_triage_move(store, &job, error);
}
