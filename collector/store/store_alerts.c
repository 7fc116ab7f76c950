// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store_alerts.h"

#include <stdio.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/store/store_internal.h"
#include "report/file/report_id.h"
#include "report/spool/spool_wait.h"

enum {
    SPREAD_STEP = 64,
    // Longer than any wait for a receiver.
    WAIT_MAX_MS = (SPOOL_WAIT_MAX_S + 60) * 1000,
    SYMBOLIZATION_PATIENCE_MS = 60000, // how long an alert waits for its report's names
    KIND_SIZE = 16,
    BURSTS = 50,
};

enum ch_status store_alert_add(struct store *store, const struct store_alert *alert,
                               int64_t since_ms, char error[STORE_ERROR_SIZE])
{
    char id[REPORT_ID_SIZE];
    report_id_make((uint64_t)alert->time_ms, id);
    const struct sql_value values[] = {
        sql_text(id),
        sql_text(alert->once != NULL ? alert->once : id),
        sql_text(alert->kind),
        sql_text(alert->group),
        sql_number(0),
        sql_text(alert->title),
        sql_text(alert->detail),
        sql_text(alert->body),
        sql_number(alert->time_ms),
        sql_number(since_ms),
    };
    const struct store_step step = { STORE_ALERT_ADD_UNLESS, values, 10, NULL };
    return store_change_alone(store, "queue an alert", &step, 1, error);
}

// ready is an alert that is about to be spread.
struct ready {
    int64_t number;
    int64_t report;
    int64_t time_ms;
    char kind[KIND_SIZE];
    char group[ENTRY_GROUP_SIZE];
    char detail[STORE_ALERT_DETAIL_SIZE];
    char project[ENTRY_PROJECT_SIZE];
    char title[sizeof(((struct entry *)NULL)->title)];
    char program[sizeof(((struct entry *)NULL)->executable)];
    char environment[sizeof(((struct entry *)NULL)->environment)];
    char crash_kind[sizeof(((struct entry *)NULL)->kind)];
    bool in_app;
    int64_t machines;
    bool stale; // the group is older than the report that it was to be new by
};

struct spreading {
    const struct store_receivers *receivers;
    struct ready ready[SPREAD_STEP];
    size_t count;
};

// take_alerted_group takes what conditions of receivers are about.
static void take_alerted_group(struct ready *ready, const struct sql_row *row)
{
    entry_copy(ready->project, sizeof(ready->project), sql_column_text(row, "project"));
    entry_copy(ready->program, sizeof(ready->program), sql_column_text(row, "program"));
    entry_copy(ready->environment, sizeof(ready->environment),
               sql_column_text(row, "environment"));
    entry_copy(ready->crash_kind, sizeof(ready->crash_kind),
               sql_column_text(row, "crash_kind"));
    ready->in_app = sql_column_number(row, "in_app") != 0;
    ready->machines = sql_column_number(row, "machines");
}

static void take_ready(void *context, const struct sql_row *row)
{
    struct spreading *spreading = context;
    struct ready *ready = &spreading->ready[spreading->count++];
    *ready = (struct ready){ .number = sql_column_number(row, "number"),
                             .report = sql_column_number(row, "report"),
                             .time_ms = sql_column_number(row, "time") };
    entry_copy(ready->kind, sizeof(ready->kind), sql_column_text(row, "kind"));
    entry_copy(ready->group, sizeof(ready->group), sql_column_text(row, "group_id"));
    entry_copy(ready->detail, sizeof(ready->detail), sql_column_text(row, "detail"));
    take_alerted_group(ready, row);
}

// take_current takes the group that the report is in by now.
static void take_current(void *context, const struct sql_row *row)
{
    struct ready *ready = context;
    bool moved = strcmp(ready->group, sql_column_text(row, "fingerprint")) != 0;
    ready->stale =
        moved &&
        sql_column_number(row, "first_seen") < sql_column_number(row, "time") &&
        strcmp(ready->kind, "new") == 0;
    entry_copy(ready->group, sizeof(ready->group), sql_column_text(row, "fingerprint"));
    entry_copy(ready->title, sizeof(ready->title), sql_column_text(row, "title"));
    take_alerted_group(ready, row);
}

static void spread_one(struct sql *sql, const struct spreading *spreading,
                       const struct ready *ready)
{
    const struct store_receivers *receivers = spreading->receivers;
    const struct store_alert alert = { .kind = ready->kind,
                                       .group = ready->group,
                                       .title = ready->title,
                                       .detail = ready->detail,
                                       .project = ready->project,
                                       .program = ready->program,
                                       .environment = ready->environment,
                                       .crash_kind = ready->crash_kind,
                                       .in_app = ready->in_app,
                                       .machines = ready->machines,
                                       .time_ms = ready->time_ms };
    struct sql_value values[] = { sql_number(ready->number),
                                  sql_number(timestamp_now()), sql_text(ready->group),
                                  sql_text(ready->title) };
    sql_queue(sql, STORE_ALERT_SPREAD, values, 4, NULL, NULL);
    for (size_t i = 0; !ready->stale && i < receivers->count; i++) {
        struct sql_value send[] = { sql_text(receivers->ids[i]), values[0] };
        if (receivers->wanted(receivers->context, i, &alert))
            sql_queue(sql, STORE_ALERT_SEND_ADD, send, 2, NULL, NULL);
    }
}

static enum ch_status spread_alerts(struct sql *sql, void *context)
{
    struct spreading *spreading = context;
    struct sql_value values[] = {
        sql_number(timestamp_now() - SYMBOLIZATION_PATIENCE_MS), sql_number(SPREAD_STEP)
    };
    spreading->count = 0;
    sql_queue(sql, STORE_ALERT_READY, values, 2, take_ready, spreading);
    enum ch_status status = sql_flush(sql);
    for (size_t i = 0; status == CH_OK && i < spreading->count; i++) {
        struct sql_value report = sql_number(spreading->ready[i].report);
        sql_queue(sql, STORE_ALERT_CURRENT, &report, 1, take_current,
                  &spreading->ready[i]);
    }
    if (status == CH_OK)
        status = sql_flush(sql);
    for (size_t i = 0; status == CH_OK && i < spreading->count; i++)
        spread_one(sql, spreading, &spreading->ready[i]);
    return status == CH_OK ? sql_flush(sql) : status;
}

enum ch_status store_alerts_spread(struct store *store,
                                   const struct store_receivers *receivers,
                                   size_t *out_count, char error[STORE_ERROR_SIZE])
{
    int64_t waiting = 0;
    struct spreading spreading = { .receivers = receivers };
    *out_count = 0;
    snprintf(error, STORE_ERROR_SIZE, "cannot read the queue of alerts");
    // A reader is asked first: an empty queue must not cost a writer's turn.
    enum ch_status status =
        store_ask(store, STORE_ALERTS_UNSPREAD, NULL, 0, sql_take_number, &waiting);
    if (status != CH_OK || waiting == 0)
        return status;
    struct store_job job = { .what = "spread alerts",
                             .alone = true,
                             .work = spread_alerts,
                             .context = &spreading };
    status = store_transact(store, &job, error);
    if (status == CH_OK)
        *out_count = spreading.count;
    return status;
}

// sending is a message while it is claimed.
struct sending {
    struct store_message *message;
    int64_t until_ms;
};

// take_waiting takes an alert into the message, if it goes with those before it: what
// was claimed before goes together, and digests and tests go alone.
static void take_waiting(void *context, const struct sql_row *row)
{
    struct store_message *message = context;
    int64_t tries = sql_column_number(row, "tries");
    bool alone = sql_column_number(row, "alone") != 0;
    bool held = sql_column_number(row, "held") != 0;
    bool full = message->alone || message->count == STORE_MESSAGE_ALERTS;
    if (message->count == 0) {
        message->alone = alone;
        message->tries = tries + 1;
    } else if (!full && tries > 0 && message->tries == 1) {
        message->count = 0;
        message->tries = tries + 1;
    } else if (full || (tries == 0) != (message->tries == 1) ||
               (message->pace.window_ms == 0 && !held)) {
        return;
    }
    message->alerts[message->count++] = sql_column_number(row, "alert");
}

static struct sql_value list_of(const struct store_message *message, struct sql *sql,
                                struct text *list)
{
    for (size_t i = 0; i < message->count; i++)
        store_list_append(list, message->alerts[i]);
    return store_list_end(sql, list);
}

static enum ch_status claim_message(struct sql *sql, void *context)
{
    const struct sending *sending = context;
    struct store_message *message = sending->message;
    CH_CLEANUP(text_deinit) struct text list = { 0 };
    struct sql_value asked[] = { sql_text(message->receiver),
                                 sql_number(timestamp_now()),
                                 sql_number(timestamp_now() + WAIT_MAX_MS),
                                 sql_number(STORE_MESSAGE_ALERTS),
                                 sql_number(message->pace.limit_count) };
    message->count = 0;
    sql_queue(sql, STORE_ALERTS_WAITING, asked, 5, take_waiting, message);
    enum ch_status status = sql_flush(sql);
    if (status != CH_OK || message->count == 0)
        return status;
    struct sql_value values[] = { list_of(message, sql, &list), asked[0],
                                  sql_number(sending->until_ms) };
    sql_queue(sql, STORE_ALERT_CLAIM, values, 3, NULL, NULL);
    return sql_flush(sql);
}

struct alert_listing {
    store_alert_fn *visit;
    void *context;
    int64_t tries;
};

static void list_alert(void *context, const struct sql_row *row)
{
    const struct alert_listing *listing = context;
    struct store_alert alert = { .number = sql_column_number(row, "number"),
                                 .id = sql_column_text(row, "id"),
                                 .kind = sql_column_text(row, "kind"),
                                 .group = sql_column_text(row, "group_id"),
                                 .title = sql_column_text(row, "title"),
                                 .detail = sql_column_text(row, "detail"),
                                 .body = sql_column_text(row, "body"),
                                 .time_ms = sql_column_number(row, "time"),
                                 .report = sql_column_text(row, "report_id"),
                                 .project = sql_column_text(row, "project"),
                                 .tries = listing->tries };
    listing->visit(listing->context, &alert);
}

enum ch_status store_message_claim(struct store *store, struct store_message *message,
                                   int64_t lease_ms, store_alert_fn *visit,
                                   void *context, char error[STORE_ERROR_SIZE])
{
    int64_t now_ms = timestamp_now();
    int64_t due = 0;
    struct sql_value asked[] = { sql_text(message->receiver), sql_number(now_ms),
                                 sql_number(now_ms + WAIT_MAX_MS) };
    snprintf(error, STORE_ERROR_SIZE, "cannot read the queue of alerts");
    enum ch_status status =
        store_ask(store, STORE_ALERTS_DUE, asked, 3, sql_take_number, &due);
    if (status == CH_OK && due == 0)
        return CH_ERR_NOT_FOUND;
    struct sending sending = { .message = message, .until_ms = now_ms + lease_ms };
    struct store_job job = { .what = "claim alerts",
                             .alone = true,
                             .work = claim_message,
                             .context = &sending };
    if (status == CH_OK)
        status = store_transact(store, &job, error);
    if (status == CH_OK && message->count == 0)
        return CH_ERR_NOT_FOUND;
    struct alert_listing listing = { visit, context, message->tries };
    for (size_t i = 0; i < message->count && status == CH_OK; i++) {
        struct sql_value number = sql_number(message->alerts[i]);
        status = store_ask(store, STORE_ALERT_READ, &number, 1, list_alert, &listing);
    }
    return status;
}

enum ch_status store_message_done(struct store *store,
                                  const struct store_message *message,
                                  char error[STORE_ERROR_SIZE])
{
    const struct store_alert_pace *pace = &message->pace;
    CH_CLEANUP(text_deinit) struct text list = { 0 };
    const struct sql_value values[] = { list_of(message, store->writer, &list),
                                        sql_text(message->receiver) };
    const struct sql_value sent[] = { values[1], sql_number(timestamp_now()),
                                      sql_number(pace->window_ms),
                                      sql_number(pace->limit_count),
                                      sql_number(pace->limit_ms) };
    const struct store_step steps[] = { { STORE_ALERT_DONE, values, 2, NULL },
                                        { STORE_RECEIVER_SENT, sent, 5, NULL } };
    return store_change(store, "end alerts", steps, message->alone ? 1 : 2, error);
}

enum ch_status store_message_later(struct store *store,
                                   const struct store_message *message, int64_t due_ms,
                                   const char *why, char error[STORE_ERROR_SIZE])
{
    CH_CLEANUP(text_deinit) struct text list = { 0 };
    const struct sql_value values[] = { list_of(message, store->writer, &list),
                                        sql_text(message->receiver), sql_number(due_ms),
                                        sql_text(why) };
    const struct store_step steps[] = { { STORE_ALERT_LATER, values, 4, NULL },
                                        { STORE_ALERT_REST, &values[1], 2, NULL } };
    return store_change(store, "postpone alerts", steps, 2, error);
}

// receiver_change is what a job does with receivers.
struct receiver_change {
    const char *const *ids;
    size_t count;
    bool found;
};

static enum ch_status note_receivers(struct sql *sql, void *context)
{
    const struct receiver_change *change = context;
    for (size_t i = 0; i < change->count; i++) {
        struct sql_value values[] = { sql_text(change->ids[i]), sql_text(""),
                                      sql_number(timestamp_now()) };
        sql_queue(sql, STORE_RECEIVER_ADD, values, 3, NULL, NULL);
    }
    return sql_flush(sql);
}

enum ch_status store_receivers_seen(struct store *store, const char *const *ids,
                                    size_t count, char error[STORE_ERROR_SIZE])
{
    struct receiver_change change = { .ids = ids, .count = count };
    struct store_job job = { .what = "note receivers",
                             .alone = true,
                             .work = note_receivers,
                             .context = &change };
    return count != 0 ? store_transact(store, &job, error) : CH_OK;
}

enum ch_status store_receiver_add(struct store *store, const char *id, const char *line,
                                  char error[STORE_ERROR_SIZE])
{
    const struct sql_value values[] = { sql_text(id), sql_text(line),
                                        sql_number(timestamp_now()) };
    const struct store_step step = { STORE_RECEIVER_ADD, values, 3, NULL };
    return store_change_alone(store, "keep the receiver", &step, 1, error);
}

static void take_removed(void *context, const struct sql_row *row)
{
    (void)row;
    ((struct receiver_change *)context)->found = true;
}

static enum ch_status drop_receiver(struct sql *sql, void *context)
{
    struct receiver_change *change = context;
    struct sql_value id = sql_text(change->ids[0]);
    change->found = false;
    sql_queue(sql, STORE_RECEIVER_REMOVE, &id, 1, take_removed, change);
    enum ch_status status = sql_flush(sql);
    if (status != CH_OK || !change->found)
        return status != CH_OK ? status : CH_ERR_NOT_FOUND;
    sql_queue(sql, STORE_RECEIVER_FORGET, &id, 1, NULL, NULL);
    return sql_flush(sql);
}

enum ch_status store_receiver_remove(struct store *store, const char *id,
                                     char error[STORE_ERROR_SIZE])
{
    struct receiver_change change = { .ids = &id, .count = 1 };
    struct store_job job = { .what = "remove the receiver",
                             .alone = true,
                             .work = drop_receiver,
                             .context = &change };
    return store_transact(store, &job, error);
}

struct receiver_listing {
    store_receiver_fn *visit;
    void *context;
};

static void list_receiver(void *context, const struct sql_row *row)
{
    const struct receiver_listing *listing = context;
    const struct store_receiver_row receiver = {
        .id = sql_column_text(row, "id"),
        .line = sql_column_text(row, "line"),
        .since_ms = sql_column_number(row, "since"),
    };
    listing->visit(listing->context, &receiver);
}

enum ch_status store_list_receivers(struct store *store, store_receiver_fn *visit,
                                    void *context)
{
    struct receiver_listing listing = { visit, context };
    return store_ask(store, STORE_RECEIVERS, NULL, 0, list_receiver, &listing);
}

enum ch_status store_alerts_forget(struct store *store, int64_t keep_ms,
                                   char error[STORE_ERROR_SIZE])
{
    int64_t old = 0;
    int64_t now_ms = timestamp_now();
    const struct sql_value before = sql_number(now_ms - keep_ms);
    const struct sql_value sent =
        sql_number(now_ms - (int64_t)STORE_ALERT_KEPT_DAYS * TIMESTAMP_DAY_MS);
    const struct store_step steps[] = { { STORE_ALERT_FORGET_SENDS, &sent, 1, NULL },
                                        { STORE_ALERT_FORGET, &before, 1, NULL } };
    snprintf(error, STORE_ERROR_SIZE, "cannot read the queue of alerts");
    enum ch_status status =
        store_ask(store, STORE_ALERTS_OLD, &before, 1, sql_take_number, &old);
    if (status != CH_OK || old == 0)
        return status;
    return store_change_alone(store, "remove old alerts", steps, 2, error);
}

static void take_state(void *context, const struct sql_row *row)
{
    struct store_alert_state *state = context;
    state->waiting = sql_column_number(row, "waiting");
    state->tries = sql_column_number(row, "tries");
    entry_copy(state->error, sizeof(state->error), sql_column_text(row, "error"));
}

enum ch_status store_alert_state_of(struct store *store, const char *receiver,
                                    struct store_alert_state *out)
{
    *out = (struct store_alert_state){ 0 };
    struct sql_value value = sql_text(receiver);
    return store_ask(store, STORE_ALERT_STATE, &value, 1, take_state, out);
}

enum ch_status store_list_alerts(struct store *store, const char *project, size_t limit,
                                 store_alert_fn *visit, void *context)
{
    struct alert_listing listing = { visit, context, 0 };
    struct sql_value values[] = { sql_number((int64_t)limit), sql_text(project) };
    return store_ask(store, STORE_ALERTS_LIST, values, 2, list_alert, &listing);
}

struct burst_listing {
    store_burst_fn *visit;
    void *context;
};

static void list_burst(void *context, const struct sql_row *row)
{
    const struct burst_listing *listing = context;
    listing->visit(listing->context, sql_column_text(row, "fingerprint"),
                   sql_column_text(row, "title"), sql_column_number(row, "n"));
}

enum ch_status store_list_bursts(struct store *store, int64_t since_ms, int64_t least,
                                 store_burst_fn *visit, void *context)
{
    struct burst_listing listing = { visit, context };
    struct sql_value values[] = { sql_number(since_ms), sql_number(least),
                                  sql_number(BURSTS) };
    return store_ask(store, STORE_LIST_BURSTS, values, 3, list_burst, &listing);
}

enum ch_status store_list_spreading(struct store *store, int64_t since_ms,
                                    int64_t machines, store_burst_fn *visit,
                                    void *context)
{
    struct burst_listing listing = { visit, context };
    struct sql_value values[] = { sql_number(since_ms), sql_number(machines),
                                  sql_number(BURSTS) };
    return store_ask(store, STORE_LIST_SPREADING, values, 3, list_burst, &listing);
}
