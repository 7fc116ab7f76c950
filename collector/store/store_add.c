// SPDX-License-Identifier: Apache-2.0
//
// A batch waits for the database three times: for what is known about its ids, for its
// groups and rows, and for the commit with all counts. What the reports of a batch have
// in common is counted before it is sent, so that it is written once.
// Rounds: a batch with several uploads of one id is stored in rounds, each with one of
// them (choose_round), so that a later one finds the earlier one stored.
// Invariants: an upload replaces an older revision alone, whose counts are taken out
// first; all writers lock groups in one order; all of it is one transaction.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/entry/body_prefixes.h"
#include "collector/entry/entry_marks.h"
#include "collector/entry/release_order.h"
#include "collector/store/store_bodies.h"
#include "collector/store/store_internal.h"
#include "collector/store/store_symbolization.h"
#include "collector/store/store_tally.h"
#include "report/file/report_id.h"
#include "report/json/json_writer.h"

// KEY_SLACK_MS saves writing the time of a key with every report.
enum { KEY_SLACK_MS = 3600000 };

// planned is what is done with an upload, and what is known about the report it
// replaces.
struct planned {
    struct store_upload *upload;
    bool done;    // in this round or an earlier one
    bool found;   // the store has the report
    bool back;    // it shows that its group, which was resolved, is back
    bool foreign; // and somebody else sent it
    int64_t number;
    int64_t revision;
    int64_t old_group;
    struct found_group *group;
};

// found_group is a group that reports of this batch belong to.
struct found_group {
    int64_t number;
    int64_t count; // with the reports of this batch,
    int64_t ours;  // which are so many
    char id[ENTRY_GROUP_SIZE];
    bool open;
    bool resolved;
    bool ignored;
    char status_release[sizeof(((struct entry *)NULL)->release)];
    int64_t status_time_ms;
    char first_release[sizeof(((struct entry *)NULL)->release)];
    char program[sizeof(((struct entry *)NULL)->executable)];
};

struct batch {
    struct store_upload *uploads;
    size_t count;
    int64_t body_segment; // of bodies that are not packed yet
    struct planned *planned;
    struct planned **order; // the uploads of this round, by fingerprint
    struct found_group *groups;
    struct text replaced;   // numbers of the reports that are replaced
    struct text old_groups; // and of the groups they were in
    struct text lost;       // facets that only they had
    struct store_tally tally;
};

static void batch_deinit(struct batch *batch)
{
    free(batch->planned);
    free(batch->order);
    free(batch->groups);
    text_deinit(&batch->replaced);
    text_deinit(&batch->old_groups);
    text_deinit(&batch->lost);
    store_tally_deinit(&batch->tally);
}

static void take_found_report(void *context, const struct sql_row *row)
{
    struct planned *planned = context;
    planned->found = true;
    planned->number = sql_column_number(row, "number");
    planned->revision = sql_column_number(row, "revision");
    planned->old_group = sql_column_number(row, "group_number");
    // The first writer of an id wins, and others do not learn that there is one.
    const struct entry *entry = planned->upload->entry;
    const char *sender = sql_column_text(row, "sender");
    planned->foreign = strcmp(sql_column_text(row, "project"), entry->project) != 0 ||
                       (sender[0] != 0 && strcmp(sender, entry->sender) != 0);
    entry_copy(planned->upload->group, sizeof(planned->upload->group),
               planned->foreign ? entry->group : sql_column_text(row, "fingerprint"));
}

// by_id orders by id, and uploads of one id as in the batch, because qsort is not
// stable.
static int by_id(const void *a, const void *b)
{
    const struct planned *x = *(struct planned *const *)a;
    const struct planned *y = *(struct planned *const *)b;
    int order = strcmp(x->upload->entry->id, y->upload->entry->id);
    return order != 0 ? order : (x > y) - (x < y);
}

static int by_fingerprint(const void *a, const void *b)
{
    const struct planned *x = *(struct planned *const *)a;
    const struct planned *y = *(struct planned *const *)b;
    int order = strcmp(x->upload->entry->group, y->upload->entry->group);
    if (order == 0)
        order = strcmp(x->upload->entry->old_group, y->upload->entry->old_group);
    return order != 0 ? order : (x > y) - (x < y);
}

// choose_round puts the first remaining upload of each id into this round: a later
// upload of the same id must find it stored.
static size_t choose_round(struct batch *batch)
{
    size_t left = 0;
    size_t chosen = 0;
    for (size_t i = 0; i < batch->count; i++) {
        if (!batch->planned[i].done)
            batch->order[left++] = &batch->planned[i];
    }
    qsort(batch->order, left, sizeof(struct planned *), by_id);
    const char *last = "";
    for (size_t i = 0; i < left; i++) {
        struct planned *planned = batch->order[i];
        if (strcmp(last, planned->upload->entry->id) == 0)
            continue;
        last = planned->upload->entry->id;
        planned->done = true;
        batch->order[chosen++] = planned;
    }
    return chosen;
}

// keep_newer drops from the round what the store has in this revision or a newer one.
static size_t keep_newer(struct batch *batch, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct planned *planned = batch->order[i];
        planned->upload->outcome = planned->found ? STORE_REPLACED : STORE_ADDED;
        if (planned->found && (planned->foreign ||
                               planned->revision >= planned->upload->entry->revision)) {
            planned->upload->outcome = STORE_KEPT;
            continue;
        }
        if (planned->found) {
            store_list_append(&batch->replaced, planned->number);
            store_list_append(&batch->old_groups, planned->old_group);
        }
        batch->order[kept++] = planned;
    }
    return kept;
}

// take_out subtracts the reports that are about to be replaced from all counts.
static void take_out(struct sql *sql, struct batch *batch)
{
    static const enum store_statement statements[] = {
        STORE_LOSE_DAYS,     STORE_REMOVE_TAGS,     STORE_REMOVE_MARKS,
        STORE_REMOVE_BODIES, STORE_REMOVE_NAMELESS,
    };
    if (batch->replaced.size == 0)
        return;
    struct sql_value list = store_list_end(sql, &batch->replaced);
    sql_queue(sql, STORE_LOSE_GROUPS, &list, 1, NULL, NULL);
    store_lose_facets(sql, &list, &batch->lost); // while their marks and tags are there
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
        sql_queue(sql, statements[i], &list, 1, NULL, NULL);
}

static void take_group_row(void *context, const struct sql_row *row)
{
    struct found_group *group = context;
    group->number = sql_column_number(row, "number");
    entry_copy(group->id, sizeof(group->id), sql_column_text(row, "fingerprint"));
    group->open = strcmp(sql_column_text(row, "status"), "open") == 0;
    group->resolved = strcmp(sql_column_text(row, "status"), "resolved") == 0;
    group->ignored = strcmp(sql_column_text(row, "status"), "ignored") == 0;
    entry_copy(group->status_release, sizeof(group->status_release),
               sql_column_text(row, "status_release"));
    group->status_time_ms = sql_column_number(row, "status_time");
    entry_copy(group->first_release, sizeof(group->first_release),
               sql_column_text(row, "first_release"));
    group->count = sql_column_number(row, "count");
    entry_copy(group->program, sizeof(group->program), sql_column_text(row, "program"));
}

void store_gain_group(struct sql *sql, const struct store_gain *gain, sql_row_fn *visit,
                      void *context)
{
    const struct entry *entry = gain->entry;
    const struct sql_value values[] = {
        sql_text(entry->group),         sql_text(entry->title),
        sql_text(entry->summary),       sql_number(entry->signal),
        sql_number(gain->count),        sql_number(gain->first_ms),
        sql_number(gain->last_ms),      sql_text(entry->stack),
        sql_text(gain->decided),        sql_text(entry->project),
        sql_text(entry_program(entry)),
    };
    sql_queue(sql, STORE_GAIN_GROUP, values, sizeof(values) / sizeof(values[0]), visit,
              context);
}

// gain_groups counts every run of uploads with one fingerprint in its group, which the
// statement creates if needed. All writers lock groups in the same order, so that they
// cannot deadlock.
static void gain_groups(struct sql *sql, struct batch *batch, size_t count)
{
    size_t group = 0;
    qsort(batch->order, count, sizeof(struct planned *), by_fingerprint);
    for (size_t start = 0; start < count;) {
        const struct entry *entry = batch->order[start]->upload->entry;
        int64_t first_ms = entry->time_ms;
        int64_t last_ms = entry->time_ms;
        size_t end = start;
        for (; end < count; end++) {
            const struct entry *other = batch->order[end]->upload->entry;
            if (strcmp(entry->group, other->group) != 0)
                break;
            first_ms = other->time_ms < first_ms ? other->time_ms : first_ms;
            last_ms = other->time_ms > last_ms ? other->time_ms : last_ms;
            batch->order[end]->group = &batch->groups[group];
        }
        const struct store_gain gain = { .entry = entry,
                                         .decided = entry->old_group,
                                         .count = (int64_t)(end - start),
                                         .first_ms = first_ms,
                                         .last_ms = last_ms };
        batch->groups[group].ours = gain.count;
        store_gain_group(sql, &gain, take_group_row, &batch->groups[group]);
        group++;
        start = end;
    }
}

static void store_report_row(struct sql *sql, struct planned *planned)
{
    const struct entry *entry = planned->upload->entry;
    struct sql_value values[] = {
        sql_text(entry->id),
        sql_number(entry->revision),
        sql_text(entry->group),
        sql_number(entry->time_ms),
        sql_number(entry->received_ms),
        sql_number(entry->signal),
        sql_text(entry->signal_name),
        sql_text(entry->title),
        sql_text(entry->summary),
        sql_text(entry->release),
        sql_text(entry->environment),
        sql_text(entry->executable),
        sql_text(entry->hostname),
        sql_text(entry->old_group),
        sql_text(entry->sender),
    };
    sql_queue(sql, planned->found ? STORE_CHANGE_REPORT : STORE_ADD_REPORT, values, 15,
              sql_take_number, &planned->number);
}

void store_queue_marks(struct sql *sql, int64_t report, const struct entry *entry)
{
    if (entry->marks_size == 0)
        return;
    CH_CLEANUP(json_writer_deinit) struct json_writer list;
    json_writer_init(&list, -1);
    json_write_array(&list);
    for (const char *mark = entry_next_mark(entry, NULL); mark != NULL;
         mark = entry_next_mark(entry, mark))
        json_write_string(&list, mark);
    json_write_end(&list, ']');
    if (json_writer_finish(&list) != CH_OK)
        return;
    struct sql_value values[] = { sql_number(report), sql_text(list.text.bytes) };
    sql_queue(sql, STORE_ADD_MARKS, values, 2, NULL, NULL);
}

// queue_names notes which builds the report lacks the names of, and has it named where
// debug files of one are here.
static void queue_names(struct sql *sql, const struct planned *planned)
{
    const struct entry *entry = planned->upload->entry;
    char key[STORE_BUILD_KEY_SIZE];
    struct sql_value job[] = { sql_number(planned->number),
                               sql_number(entry->received_ms), sql_text(""),
                               sql_text(key) };
    for (size_t i = 0; i < entry->nameless_count; i++) {
        struct sql_value nameless[] = { sql_text(entry->nameless[i]),
                                        sql_number(planned->number) };
        sql_queue(sql, STORE_NAMELESS_ADD, nameless, 2, NULL, NULL);
        job[2] = sql_text(entry->nameless[i]);
        store_build_key(entry->project, entry->nameless[i], key);
        if (!entry->names_wanted)
            sql_queue(sql, STORE_JOB_ADD_KNOWN, job, 4, NULL, NULL);
    }
    if (entry->names_wanted)
        sql_queue(sql, STORE_JOB_ADD, job, 2, NULL, NULL);
}

// queue_keys has the key of version 1 lead to the report's group. Consecutive reports
// of the round often have the same.
static void queue_keys(struct sql *sql, const struct batch *batch, size_t count)
{
    const struct entry *last = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct entry *entry = batch->order[i]->upload->entry;
        bool again = last != NULL && strcmp(last->group, entry->group) == 0 &&
                     strcmp(last->old_group, entry->old_group) == 0;
        last = entry;
        if (entry->old_group[0] == 0 || again)
            continue;
        struct sql_value key[] = { sql_text(entry->old_group), sql_text(entry->group),
                                   sql_number(entry->time_ms),
                                   sql_number(KEY_SLACK_MS) };
        sql_queue(sql, STORE_KEY_SET, key, 4, NULL, NULL);
    }
}

static int by_program_day(const void *a, const void *b)
{
    const struct planned *x = *(struct planned *const *)a;
    const struct planned *y = *(struct planned *const *)b;
    const struct entry *one = x->upload->entry;
    const struct entry *other = y->upload->entry;
    int64_t days = one->time_ms / TIMESTAMP_DAY_MS - other->time_ms / TIMESTAMP_DAY_MS;
    int order = x->found - y->found;
    if (order == 0)
        order = strcmp(one->project, other->project);
    if (order == 0)
        order = strcmp(entry_program(one), entry_program(other));
    if (order == 0)
        order = strcmp(one->environment, other->environment);
    if (order == 0)
        order = strcmp(one->release, other->release);
    return order != 0 ? order : (days > 0) - (days < 0);
}

// queue_program_days counts the reports of the round that are new by program, release
// and day. It changes their order.
static void queue_program_days(struct sql *sql, const struct batch *batch, size_t count)
{
    qsort(batch->order, count, sizeof(struct planned *), by_program_day);
    for (size_t start = 0; start < count && !batch->order[start]->found;) {
        const struct entry *entry = batch->order[start]->upload->entry;
        int64_t first_ms = entry->time_ms;
        int64_t last_ms = entry->time_ms;
        size_t end = start;
        for (; end < count &&
               by_program_day(&batch->order[start], &batch->order[end]) == 0;
             end++) {
            int64_t time_ms = batch->order[end]->upload->entry->time_ms;
            first_ms = time_ms < first_ms ? time_ms : first_ms;
            last_ms = time_ms > last_ms ? time_ms : last_ms;
        }
        const struct sql_value values[] = {
            sql_text(entry->project),
            sql_text(entry_program(entry)),
            sql_text(entry->environment),
            sql_text(entry->release),
            sql_number(entry->time_ms / TIMESTAMP_DAY_MS),
            sql_number((int64_t)(end - start)),
            sql_number(first_ms),
            sql_number(last_ms),
        };
        sql_queue(sql, STORE_GAIN_PROGRAM_DAY, values, 8, NULL, NULL);
        start = end;
    }
}

// queue_session counts the session as one that crashed, once for all of its reports.
static void queue_session(struct sql *sql, const struct entry *entry)
{
    enum { DAY_MS = 86400000 };
    const struct sql_value session[] = {
        sql_text(entry->project), sql_text(entry->session), sql_text(entry->release),
        sql_text(entry->hostname), sql_number(entry->time_ms / DAY_MS)
    };
    if (entry->session[0] != 0)
        sql_queue(sql, STORE_SESSION_ADD, session, 5, NULL, NULL);
}

static void write_parts(struct sql *sql, const struct planned *planned,
                        int64_t body_segment)
{
    const struct store_upload *upload = planned->upload;
    const struct entry *entry = upload->entry;
    for (size_t i = 0; i < entry->tag_count; i++) {
        struct sql_value tag[] = { sql_number(planned->number),
                                   sql_text(entry->tags[i].key),
                                   sql_text(entry->tags[i].value) };
        sql_queue(sql, STORE_ADD_TAG, tag, 3, NULL, NULL);
    }
    for (size_t i = 0; i < entry->held_count; i++) {
        struct sql_value held[] = { sql_text(entry->held[i].fingerprint),
                                    sql_text(entry->id),
                                    sql_number(entry->held[i].count),
                                    sql_number(entry->received_ms) };
        sql_queue(sql, STORE_ADD_HELD, held, 4, NULL, NULL);
    }
    queue_session(sql, entry);
    store_queue_marks(sql, planned->number, entry);
    queue_names(sql, planned);
    struct sql_value body[] = { sql_number(planned->number),
                                sql_number(upload->encoding),
                                sql_bytes(upload->body, upload->body_size),
                                sql_number(body_segment),
                                sql_number(upload->prefix),
                                sql_number(entry->received_ms) };
    sql_queue(sql, STORE_ADD_BODY, body, sql->dialect == SQL_POSTGRES ? 6 : 5, NULL,
              NULL);
    // A group of one report needs none.
    if (upload->common == NULL || planned->group->count < 2)
        return;
    struct sql_value prefix[] = { sql_text(entry->group), sql_text(entry->project),
                                  sql_number(body_prefix_week(entry->received_ms)),
                                  sql_bytes(upload->common, upload->common_size) };
    sql_queue(sql, STORE_ADD_PREFIX, prefix, 4, NULL, NULL);
}

// newer_by_number is what the numbers of two releases say: see STORE_IS_BACK.
static int64_t newer_by_number(const char *release, int64_t time_ms,
                               const char *status_release, int64_t status_time_ms)
{
    enum { OLDER, NEWER, UNKNOWN };
    int order = 0;
    bool later = time_ms > status_time_ms;
    bool itself = status_release[0] == STORE_RESOLVED_IN;
    status_release += itself;
    if (status_release[0] == 0)
        return later ? NEWER : OLDER;
    if (release_order(release, status_release, &order))
        return order > 0 || (order == 0 && itself && later) ? NEWER : OLDER;
    return later ? UNKNOWN : OLDER;
}

static void take_back(void *context, const struct sql_row *row)
{
    (void)row;
    *(bool *)context = true;
}

void store_ask_regression(struct sql *sql, const struct store_resolved *resolved,
                          const char *release, int64_t time_ms, bool *out)
{
    const char *in = resolved->release + (resolved->release[0] == STORE_RESOLVED_IN);
    struct sql_value values[] = { sql_number(resolved->group), sql_text(release),
                                  sql_number(newer_by_number(release, time_ms,
                                                             resolved->release,
                                                             resolved->time_ms)),
                                  sql_text(in) };
    *out = false;
    sql_queue(sql, STORE_IS_BACK, values, 4, take_back, out);
}

void store_queue_alert(struct sql *sql, const char *kind, const char *group_id,
                       int64_t report, const struct entry *entry, const char *detail)
{
    char id[REPORT_ID_SIZE];
    char once[48];
    report_id_make((uint64_t)timestamp_now(), id);
    (void)snprintf(once, sizeof(once), "%s %lld", kind, (long long)report);
    struct sql_value values[] = {
        sql_text(id),       sql_text(once),     sql_text(kind),
        sql_text(group_id), sql_number(report), sql_text(entry->title),
        sql_text(detail),   sql_text(""),       sql_number(timestamp_now()),
    };
    sql_queue(sql, STORE_ALERT_ADD, values, 9, NULL, NULL);
}

// alert_of_new tells of a group that begins with reports of this round. One that was
// decided on under an earlier key is not new, nor is that of a report alone that is
// replaced.
static void alert_of_new(struct sql *sql, const struct planned *planned)
{
    struct found_group *group = planned->group;
    bool replaced = planned->found && planned->old_group == group->number;
    if (group->open && group->count == group->ours && !replaced)
        store_queue_alert(sql, "new", group->id, planned->number,
                          planned->upload->entry, "");
    group->ours = 0;
}

// ask_for_regressions finds out which reports show that resolved groups are back,
// before their releases are counted.
static enum ch_status ask_for_regressions(struct sql *sql, const struct batch *batch,
                                          size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        struct planned *planned = batch->order[i];
        const struct found_group *group = planned->group;
        const struct store_resolved resolved = { .group = group->number,
                                                 .release = group->status_release,
                                                 .time_ms = group->status_time_ms };
        if (group->resolved)
            store_ask_regression(sql, &resolved, planned->upload->entry->release,
                                 planned->upload->entry->time_ms, &planned->back);
        any |= group->resolved;
    }
    return any ? sql_flush(sql) : CH_OK;
}

static void regress_groups(struct sql *sql, const struct planned *planned)
{
    struct found_group *group = planned->group;
    const struct entry *entry = planned->upload->entry;
    if (!group->resolved || !planned->back)
        return;
    group->resolved = false;
    struct sql_value values[] = { sql_number(group->number), sql_text(entry->release),
                                  sql_number(entry->received_ms) };
    sql_queue(sql, STORE_REGRESS, values, 3, NULL, NULL);
    struct sql_value past[] = {
        sql_text(group->id), sql_number(entry->received_ms), sql_text("regressed"),
        sql_text(""),        sql_text(entry->release),       sql_number(1),
    };
    sql_queue(sql, STORE_HISTORY_ADD, past, 6, NULL, NULL);
    store_queue_alert(sql, "regressed", group->id, planned->number, entry,
                      entry->release);
}

// end_ignoring reopens the ignored groups that have more reports or machines by now
// than people wanted to wait for, or whose time is over.
static void end_ignoring(struct sql *sql, const struct batch *batch, size_t count)
{
    const struct found_group *last = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct planned *planned = batch->order[i];
        struct sql_value values[] = {
            sql_number(planned->group->number),
            sql_number(planned->upload->entry->received_ms),
        };
        if (planned->group->ignored && planned->group != last)
            sql_queue(sql, STORE_IGNORE_END, values, 2, NULL, NULL);
        last = planned->group;
    }
}

// keep_first_release keeps the oldest release of a group's program, or, where releases
// have no order, the one that was seen first.
static void keep_first_release(struct sql *sql, const struct planned *planned)
{
    const char *release = planned->upload->entry->release;
    struct found_group *group = planned->group;
    int order = 0;
    bool older = release_order(release, group->first_release, &order) && order < 0;
    if (release[0] == 0 || (group->first_release[0] != 0 && !older) ||
        strcmp(group->program, entry_program(planned->upload->entry)) != 0)
        return;
    entry_copy(group->first_release, sizeof(group->first_release), release);
    struct sql_value values[] = { sql_number(group->number), sql_text(release) };
    sql_queue(sql, STORE_SET_FIRST_RELEASE, values, 2, NULL, NULL);
}

// count_in_batch queues the counts of what was written, and recomputes groups that lost
// reports. The commit waits for all of it.
static enum ch_status count_in_batch(struct sql *sql, struct batch *batch)
{
    enum ch_status status = store_tally_queue(&batch->tally, sql);
    if (status != CH_OK || batch->old_groups.size == 0)
        return status;
    struct sql_value old = store_list_end(sql, &batch->old_groups);
    sql_queue(sql, STORE_SEE_AGAIN, &old, 1, NULL, NULL);
    struct sql_value lost = store_list_end(sql, &batch->lost);
    sql_queue(sql, STORE_DROP_FACETS, &lost, 1, NULL, NULL);
    store_remove_empty(sql, &old);
    return CH_OK;
}

static void clear_lists(struct batch *batch)
{
    text_clear(&batch->replaced);
    text_clear(&batch->old_groups);
    text_clear(&batch->lost);
    store_tally_clear(&batch->tally);
}

// add_round stores the chosen uploads, no two of which have the same id.
static enum ch_status add_round(struct sql *sql, struct batch *batch, size_t count)
{
    clear_lists(batch);
    for (size_t i = 0; i < count; i++) {
        struct sql_value id = sql_text(batch->order[i]->upload->entry->id);
        sql_queue(sql, STORE_FIND_REPORT, &id, 1, take_found_report, batch->order[i]);
    }
    enum ch_status status = sql_flush(sql);
    if (status != CH_OK)
        return status;
    count = keep_newer(batch, count);
    if (count == 0)
        return CH_OK;

    take_out(sql, batch);
    gain_groups(sql, batch, count);
    for (size_t i = 0; i < count; i++)
        store_report_row(sql, batch->order[i]);
    status = sql_flush(sql);
    if (status == CH_OK)
        status = ask_for_regressions(sql, batch, count);
    if (status != CH_OK)
        return status;

    for (size_t i = 0; i < count; i++) {
        struct planned *planned = batch->order[i];
        memcpy(planned->upload->group, planned->group->id, sizeof(planned->group->id));
        write_parts(sql, planned, batch->body_segment);
        alert_of_new(sql, planned);
        regress_groups(sql, planned);
        keep_first_release(sql, planned);
        store_tally_add(&batch->tally, planned->group->number, planned->upload->entry);
    }
    queue_keys(sql, batch, count);
    status = count_in_batch(sql, batch);
    end_ignoring(sql, batch, count);
    queue_program_days(sql, batch, count);
    return status;
}

static enum ch_status add_batch(struct sql *sql, void *context)
{
    struct batch *batch = context;
    enum ch_status status = CH_OK;
    for (size_t i = 0; i < batch->count; i++)
        batch->planned[i] = (struct planned){ .upload = &batch->uploads[i] };
    for (;;) {
        size_t count = choose_round(batch);
        if (count == 0 || status != CH_OK)
            return status;
        status = add_round(sql, batch, count);
    }
}

void store_compress_body(struct store *store, const char *json, size_t size,
                         struct store_upload *upload, struct text *room)
{
    const struct text_part text = { json, size };
    bool known = false;
    if (store->prefixes == NULL)
        return;
    upload->prefix = body_prefixes_compress(store->prefixes, upload->entry, &text,
                                            upload->body_size, &known, room);
    if (!known)
        body_prefix_make(json, size, room);
    if (!text_ok(room) || room->size == 0)
        return;
    if (!known) {
        upload->common = room->bytes;
        upload->common_size = room->size;
        return;
    }
    upload->body = room->bytes;
    upload->body_size = room->size;
    upload->encoding = DECODE_ZSTD;
}

// sought_prefix is whose prefix is asked for.
struct sought_prefix {
    struct body_prefixes *prefixes;
    const struct entry *entry;
    bool found;
};

static void take_prefix(void *context, const struct sql_row *row)
{
    struct sought_prefix *sought = context;
    size_t size = 0;
    const void *bytes = sql_column_bytes(row, "bytes", &size);
    body_prefixes_note(sought->prefixes, sought->entry,
                       sql_column_number(row, "number"), bytes, size);
    sought->found = true;
}

// find_body_prefix finds what later reports like this one are compressed with. It is
// asked for outside of a transaction, so that it will be there.
static enum ch_status find_body_prefix(struct store *store, struct store_upload *upload)
{
    struct sought_prefix sought = { .prefixes = store->prefixes,
                                    .entry = upload->entry };
    struct sql_value of[] = {
        sql_text(upload->entry->group), sql_text(upload->entry->project),
        sql_number(body_prefix_week(upload->entry->received_ms))
    };
    enum ch_status status =
        sql_ask(store->writer, STORE_FIND_PREFIX, of, 3, take_prefix, &sought);
    if (sought.found)
        upload->common = NULL;
    return status;
}

// prepare_batch makes the partitions that the batch's bodies belong to.
static enum ch_status prepare_batch(struct store *store, void *context)
{
    const struct batch *batch = context;
    enum ch_status status = CH_OK;
    for (size_t i = 0; i < batch->count && status == CH_OK; i++) {
        status = store_make_week(store, batch->uploads[i].entry->received_ms);
        if (status == CH_OK && batch->uploads[i].common != NULL)
            status = find_body_prefix(store, &batch->uploads[i]);
    }
    return status;
}

enum ch_status store_add(struct store *store, struct store_upload *uploads,
                         size_t count, char error[STORE_ERROR_SIZE])
{
    CH_CLEANUP(batch_deinit)
    struct batch batch = {
        .uploads = uploads,
        .count = count,
        .body_segment = store->objects != NULL ? STORE_BODY_STAGED : STORE_BODY_HERE,
        .planned = calloc(count, sizeof(*batch.planned)),
        .order = calloc(count, sizeof(struct planned *)),
        .groups = calloc(count, sizeof(*batch.groups)),
    };
    if (batch.planned == NULL || batch.order == NULL || batch.groups == NULL) {
        snprintf(error, STORE_ERROR_SIZE, "cannot store reports: out of memory");
        return CH_ERR_NO_MEMORY;
    }
    struct store_job job = { .what = "store reports",
                             .prepare = prepare_batch,
                             .work = add_batch,
                             .context = &batch };
    enum ch_status status = store_transact(store, &job, error);
    store->stored_ms = timestamp_now();
    return status;
}
