// SPDX-License-Identifier: Apache-2.0
//
// How it works: queue_run lists the spool and starts a delivery for each report that a
// target may get now; queue_send does the same for one report whose lock the caller
// holds.
//
// A parcel is one report under way:
//   init_parcel -> open_parcel (lock, read, add names) -> begin_parcel (admit_report:
//   rate, counts) -> continue_parcel: one target after the other, each request on a
//   worker (send_leg) -> note_arrival (apply_verdict) -> ... -> end_parcel (save) ->
//   deinit_parcel
//
// States of a target in the state file: pending -> sent, failed or skipped. Pending
// targets have a time before which they are not tried again (retry_*); a wait that a
// server requested is stored for other processes (spool_waits).
//
// Invariants: only the calling thread changes the queue, the parcels, state files and
// totals; a worker writes its parcel's verdict, which is read after workers_end has
// returned that parcel. A parcel is sent to one target at a time. The lock of a report
// is held from open_parcel to deinit_parcel, in queue_send by its caller. The state is
// written before the lock is released.
#include "upload/queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status.h"
#include "base/system/file.h"
#include "net/http.h"
#include "report/spool/spool.h"
#include "report/spool/spool_state.h"
#include "report/value/report.h"
#include "upload/protocol.h"

int64_t retry_due_time(const struct target *target, const struct spool_target *waiting,
                       int64_t now)
{
    int64_t due = now;
    if (!spool_wait_over(&target->rest, now))
        due = target->rest.until;
    if (!spool_wait_over(&waiting->wait, now) && waiting->wait.until > due)
        due = waiting->wait.until;
    return due;
}

bool retry_is_due(const struct target *target, const struct spool_target *waiting,
                  bool any_report)
{
    int64_t now = time(NULL);
    if (waiting->state != TARGET_PENDING || !spool_wait_over(&target->rest, now))
        return false;
    return any_report || spool_wait_over(&waiting->wait, now);
}

// wait_of is a wait of that many seconds from now; one more second covers the fraction.
static struct spool_wait wait_of(int64_t seconds)
{
    int64_t now = time(NULL);
    return (struct spool_wait){ .noted = now, .until = now + seconds + 1 };
}

void retry_postpone(struct target *target, struct spool_target *waiting,
                    const struct verdict *verdict)
{
    uint32_t failures = waiting->attempts;
    if (verdict->target_down && ++target->failures > failures)
        failures = target->failures;
    waiting->wait = wait_of(backoff_wait_s(verdict->wait_s, failures));
    if (verdict->target_down)
        target->rest = waiting->wait;
}

// retry_keep records what the target requested, for this process and for later senders.
CH_CHECKED static enum ch_status retry_keep(const struct spool *spool,
                                            struct target *target,
                                            const struct verdict *verdict)
{
    if (verdict->wait_s < 0 && verdict->attachments_wait_s < 0 && !verdict->expanded)
        return CH_OK;
    if (verdict->wait_s >= 0)
        target->rest = wait_of(backoff_wait_s(verdict->wait_s, 0));
    if (verdict->attachments_wait_s >= 0)
        target->attachments_rest =
            wait_of(backoff_wait_s(verdict->attachments_wait_s, 0));
    // A collector that is updated gets version 2 of reports at most a day later.
    if (verdict->expanded)
        target->tables_rest = wait_of(backoff_wait_s(SPOOL_WAIT_MAX_S, 0));
    const struct spool_waits waits = { .reports = target->rest,
                                       .attachments = target->attachments_rest,
                                       .tables = target->tables_rest };
    return spool_waits_write(spool, target->shown, &waits, time(NULL));
}

// retry_learn reads what the target requested of earlier senders. insist: reports are
// sent whatever it requested.
static void retry_learn(const struct spool *spool, struct target *target, bool insist)
{
    const struct spool_waits waits = spool_waits_read(spool, target->shown);
    if (!insist && waits.reports.until > target->rest.until)
        target->rest = waits.reports;
    target->attachments_rest = waits.attachments;
    target->tables_rest = waits.tables;
}

// The order in which the reports of a spool are sent.
//
// It is that of their ids, which is that of the crashes, but for reports that failed.
// It only reads state files, without locks.

// has_failed is true if a target was sent the report before and did not take it.
static bool has_failed(const struct spool *spool, const char *id)
{
    struct spool_state state;
    bool failed = false;
    if (spool_state_read(spool, id, &state) != CH_OK)
        return false;
    for (size_t i = 0; i < state.count && !failed; i++)
        failed = state.targets[i].state == TARGET_PENDING && state.targets[i].attempts;
    spool_state_deinit(&state);
    return failed;
}

// queue_order_apply moves reports that failed before after the others: a report that
// makes a server fail must not keep it from all other reports.
CH_CHECKED static enum ch_status queue_order_apply(const struct spool *spool,
                                                   struct spool_listing *listing)
{
    struct spool_entry *failed = calloc(listing->count + 1, sizeof(*failed));
    size_t failed_count = 0;
    size_t kept = 0;
    if (failed == NULL)
        return CH_ERR_NO_MEMORY;
    for (size_t i = 0; i < listing->count; i++) {
        if (has_failed(spool, listing->entries[i].id))
            failed[failed_count++] = listing->entries[i];
        else
            listing->entries[kept++] = listing->entries[i];
    }
    if (failed_count != 0)
        memcpy(&listing->entries[kept], failed, failed_count * sizeof(*failed));
    free(failed);
    return CH_OK;
}

// workers_open is how many may be busy.
static size_t workers_open(const struct workers *workers)
{
    size_t open = workers->well < WORKERS_FROM ? 1 : workers->well - WORKERS_FROM + 2;
    return open < WORKERS_MAX ? open : WORKERS_MAX;
}

static void *worker_run(void *context)
{
    const struct worker *worker = context;
    worker->work(worker->context);
    return NULL;
}

// workers_begin begins work, which must be distinct from other work under way. One
// worker at least must be free. With one open worker it returns when the work is done.
static void workers_begin(struct workers *workers, worker_fn *work, void *context)
{
    struct worker *worker =
        &workers->busy[(workers->first + workers->count) % WORKERS_MAX];
    *worker = (struct worker){ .work = work, .context = context };
    workers->count++;
    worker->threaded = workers_open(workers) > 1 &&
                       pthread_create(&worker->thread, NULL, worker_run, worker) == 0;
    if (!worker->threaded)
        work(context);
}

// workers_end waits for the oldest work and gives its context. NULL: there is none.
static void *workers_end(struct workers *workers)
{
    if (workers->count == 0)
        return NULL;
    const struct worker *worker = &workers->busy[workers->first];
    if (worker->threaded)
        (void)pthread_join(worker->thread, NULL);
    workers->first = (workers->first + 1) % WORKERS_MAX;
    workers->count--;
    return worker->context;
}

enum { TROUBLE_S = 60 };

// parcel is one report; while it is under way, its worker has it.
struct parcel {
    char id[REPORT_ID_SIZE];
    int *lock_fd;
    int own_fd; // the lock, and report is the parcel's too; -1: they are the caller's
    json_t *report;
    struct text json; // the report as a file; empty until it is first needed
    bool unsaved;     // the spool has not got json yet
    struct spool_state state;
    size_t noted; // the number of targets in the state's file
    size_t at;    // which target is next
    enum ch_status status;
    const struct target *to;
    struct shipment shipment;
    struct verdict verdict;
};

CH_PRINTF(2, 3)
static void say_queue_line(const struct queue *queue, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    queue->say(queue->context, line);
}

static uint64_t time_left_ms(const struct queue *queue)
{
    if (queue->deadline_ms == 0)
        return queue->timeout_ms;
    uint64_t now_ms = clock_now_ms(CLOCK_MONOTONIC);
    uint64_t left = queue->deadline_ms > now_ms ? queue->deadline_ms - now_ms : 0;
    return left < queue->timeout_ms ? left : queue->timeout_ms;
}

// note_waiting counts a target that still waits for a report.
static void note_waiting(const struct target *target,
                         const struct spool_target *waiting,
                         struct queue_totals *totals)
{
    int64_t now = time(NULL);
    int64_t next = retry_due_time(target, waiting, now);
    totals->pending++;
    if (totals->next_time == 0 || next < totals->next_time)
        totals->next_time = next;
}

// read_waits reads what the targets requested of earlier senders. An explicit retry
// ignores our own collector's waits.
static void read_waits(struct queue *queue)
{
    for (size_t i = 0; i < queue->targets.count; i++) {
        struct target *target = &queue->targets.targets[i];
        retry_learn(queue->spool, target,
                    queue->waits_over && target->kind == TARGET_KIND_COLLECTOR);
    }
}

static enum ch_status apply_verdict(const struct queue *queue, struct target *target,
                                    const struct parcel *parcel,
                                    struct spool_target *waiting,
                                    const struct verdict *verdict)
{
    waiting->attempts++;
    waiting->wait = (struct spool_wait){ 0 };
    spool_target_fail(waiting, verdict->state,
                      verdict->why[0] != 0 ? verdict->why : NULL);
    // A target that stays down is reported once, not once for each report.
    if (verdict->state != TARGET_SENT &&
        (!verdict->target_down || strcmp(target->trouble, verdict->why) != 0))
        say_queue_line(queue, "cannot upload report %s to '%s': %s", parcel->id,
                       target->shown, verdict->why);
    (void)snprintf(target->trouble, sizeof(target->trouble), "%s", verdict->why);
    if (verdict->state == TARGET_PENDING)
        retry_postpone(target, waiting, verdict);
    else
        target->failures = 0;
    return retry_keep(queue->spool, target, verdict);
}

static void tell_bytes(void *context, uint64_t sent, uint64_t size)
{
    struct queue *queue = context;
    queue->step.sent_bytes = sent;
    queue->step.size_bytes = size;
    queue->progress(queue->context, &queue->step);
}

// send_leg is a worker_fn: it sends a parcel to the target that it is for.
static void send_leg(void *context)
{
    struct parcel *parcel = context;
    protocol_of(parcel->to->kind)
        ->send(parcel->to, &parcel->shipment, &parcel->verdict);
}

// begin_leg sends the report to a target, in a worker of its own.
static enum ch_status begin_leg(struct queue *queue, struct parcel *parcel,
                                const struct target *target)
{
    if (parcel->json.size == 0) {
        enum ch_status status = report_print(parcel->report, &parcel->json);
        if (status != CH_OK)
            return status;
    }
    // How far a transfer is can be shown of one at a time.
    bool shown = queue->progress != NULL && workers_open(&queue->workers) == 1;
    parcel->to = target;
    parcel->shipment = (struct shipment){
        .id = parcel->id,
        .report = parcel->report,
        .json = parcel->json.bytes,
        .size = parcel->json.size,
        .token = queue->token,
        .otlp_headers = queue->otlp_headers,
        .otlp_protobuf = queue->otlp_protobuf,
        .expand = !spool_wait_over(&target->tables_rest, time(NULL)),
        .attach = spool_wait_over(&target->attachments_rest, time(NULL)),
        .timeout_ms = time_left_ms(queue),
        .progress = shown ? tell_bytes : NULL,
        .context = queue,
    };
    workers_begin(&queue->workers, send_leg, parcel);
    return CH_OK;
}

// save_parcel replaces the report in the spool by the one with names. One that has
// arrived everywhere need not be on the disk before the next one is sent.
static void save_parcel(struct queue *queue, struct parcel *parcel, bool arrived)
{
    const struct text *json = &parcel->json;
    if (!parcel->unsaved)
        return;
    enum ch_status status =
        arrived ? spool_replace_sent(queue->spool, parcel->id, json->bytes, json->size,
                                     parcel->lock_fd)
                : spool_replace(queue->spool, parcel->id, json->bytes, json->size,
                                parcel->lock_fd);
    parcel->unsaved = false;
    if (status != CH_OK)
        say_queue_line(queue, "cannot rewrite report %s: %s", parcel->id,
                       spool_why(status));
}

static const char *executable_of(const json_t *report)
{
    const char *executable =
        report_string(json_object_get(report, "process"), "executable");
    return executable != NULL ? executable : "";
}

// mark_targets gives all targets that still wait for the report the same state.
static enum ch_status mark_targets(const struct queue *queue, const char *id,
                                   struct spool_state *state,
                                   enum spool_target_state mark, const char *why)
{
    for (size_t i = 0; i < queue->targets.count; i++) {
        struct spool_target *target =
            spool_state_target(state, queue->targets.targets[i].shown);
        if (target == NULL)
            return CH_ERR_NO_MEMORY;
        if (target->state == TARGET_PENDING)
            spool_target_fail(target, mark, why);
    }
    return spool_state_write(queue->spool, id, state);
}

// take_counts adds to a report the counts of its program's crashes that were not sent,
// and stores the result at once: the spool has them no more.
static enum ch_status take_counts(struct queue *queue, struct parcel *parcel)
{
    struct text json = { 0 };
    bool changed = false;
    enum ch_status status = spool_counts_take(
        queue->spool, executable_of(parcel->report), parcel->report, &changed);
    if (status != CH_OK || !changed)
        return status;
    status = report_print(parcel->report, &json);
    if (status == CH_OK)
        status = spool_replace(queue->spool, parcel->id, json.bytes, json.size,
                               parcel->lock_fd);
    text_deinit(&parcel->json);
    parcel->json = json;
    parcel->unsaved = false;
    return status;
}

// admit_report handles a report that is new to the queue: it checks its program's rate,
// and adds counts that the report has to carry. It rewrites the report if that changed
// it.
static enum ch_status admit_report(struct queue *queue, struct parcel *parcel,
                                   bool *out_send)
{
    char why[96];
    const char *fingerprint = report_string(parcel->report, "fingerprint");
    const struct spool_crash crash = { .id = parcel->id,
                                       .executable = executable_of(parcel->report),
                                       .fingerprint =
                                           fingerprint != NULL ? fingerprint : "",
                                       .unix_ms = report_id_time_ms(parcel->id) };
    enum ch_status status =
        spool_counts_admit(queue->spool, &crash, queue->rate, out_send);
    if (status != CH_OK)
        return status;
    if (*out_send)
        return take_counts(queue, parcel);
    (void)snprintf(why, sizeof(why), "held back: more than %llu crashes in %llu ms",
                   (unsigned long long)queue->rate.count,
                   (unsigned long long)queue->rate.ms);
    return mark_targets(queue, parcel->id, &parcel->state, TARGET_SKIPPED, why);
}

// read_delivery_state reads what became of the report; a damaged file counts as
// missing.
static enum ch_status read_delivery_state(const struct queue *queue, const char *id,
                                          struct spool_state *out)
{
    enum ch_status status = spool_state_read(queue->spool, id, out);
    if (status == CH_ERR_MALFORMED) {
        say_queue_line(
            queue, "cannot understand the upload state of report %s: it starts anew",
            id);
        status = CH_OK;
    }
    return status;
}

// continue_parcel sends the report to the next target that is due, or to none if there
// is no more. True: it is under way.
static bool continue_parcel(struct queue *queue, struct parcel *parcel,
                            struct queue_totals *totals)
{
    for (; parcel->status == CH_OK && parcel->at < queue->targets.count; parcel->at++) {
        struct target *target = &queue->targets.targets[parcel->at];
        struct spool_target *waiting =
            spool_state_target(&parcel->state, target->shown);
        if (waiting == NULL) {
            parcel->status = CH_ERR_NO_MEMORY;
        } else if (retry_is_due(target, waiting, queue->waits_over)) {
            parcel->status = begin_leg(queue, parcel, target);
            return parcel->status == CH_OK;
        } else if (waiting->state == TARGET_PENDING) {
            note_waiting(target, waiting, totals);
        }
    }
    return false;
}

// note_arrival records what the target that the parcel was sent to answered.
static void note_arrival(struct queue *queue, struct parcel *parcel,
                         struct queue_totals *totals)
{
    struct target *target = &queue->targets.targets[parcel->at++];
    struct spool_target *waiting = spool_state_target(&parcel->state, target->shown);
    if (waiting == NULL) {
        parcel->status = CH_ERR_NO_MEMORY;
        return;
    }
    bool well = parcel->verdict.state == TARGET_SENT;
    queue->workers.well = well ? queue->workers.well + 1 : 0;
    parcel->status = apply_verdict(queue, target, parcel, waiting, &parcel->verdict);
    if (parcel->status == CH_OK)
        parcel->status = spool_state_write(queue->spool, parcel->id, &parcel->state);
    parcel->noted = parcel->state.count;
    totals->sent += waiting->state == TARGET_SENT;
    totals->failed += waiting->state == TARGET_FAILED;
    if (waiting->state == TARGET_PENDING)
        note_waiting(target, waiting, totals);
}

// begin_parcel begins to send a report to the targets that want it. True: it is under
// way.
static bool begin_parcel(struct queue *queue, struct parcel *parcel,
                         struct queue_totals *totals)
{
    bool send = true;
    parcel->status = read_delivery_state(queue, parcel->id, &parcel->state);
    parcel->noted = parcel->state.count;
    if (parcel->status == CH_OK && parcel->noted == 0 && queue->targets.count != 0)
        parcel->status = admit_report(queue, parcel, &send);
    totals->skipped += !send;
    if (!send)
        save_parcel(queue, parcel, false);
    return send && continue_parcel(queue, parcel, totals);
}

// end_parcel saves what has become of a report, and says what failed.
static void end_parcel(struct queue *queue, struct parcel *parcel)
{
    save_parcel(queue, parcel, spool_state_settled(&parcel->state));
    // Targets that were not due are recorded too, as what the report still waits for.
    if (parcel->status == CH_OK && parcel->noted != parcel->state.count)
        parcel->status = spool_state_write(queue->spool, parcel->id, &parcel->state);
    if (parcel->status != CH_OK)
        say_queue_line(queue, "cannot keep the upload state of report %s: %s",
                       parcel->id, spool_why(parcel->status));
}

enum ch_status queue_send(struct queue *queue, const char *id, int *lock_fd,
                          json_t *report, struct queue_totals *totals)
{
    struct parcel parcel = { .lock_fd = lock_fd, .own_fd = -1, .report = report };
    (void)snprintf(parcel.id, sizeof(parcel.id), "%s", id);
    read_waits(queue);
    bool under_way = begin_parcel(queue, &parcel, totals);
    while (under_way && workers_end(&queue->workers) != NULL) {
        note_arrival(queue, &parcel, totals);
        under_way = continue_parcel(queue, &parcel, totals);
    }
    end_parcel(queue, &parcel);
    text_deinit(&parcel.json);
    spool_state_deinit(&parcel.state);
    return parcel.status;
}

// any_target_wants returns true if any target may get this report now; if none may, the
// targets that wait are counted.
static bool any_target_wants(struct queue *queue, const char *id,
                             struct queue_totals *totals)
{
    struct spool_state state;
    struct queue_totals waiting_alone = *totals;
    bool wanted = false;
    if (read_delivery_state(queue, id, &state) != CH_OK)
        return true; // the failure is reported when the report is locked
    for (size_t i = 0; i < queue->targets.count && !wanted; i++) {
        const struct target *target = &queue->targets.targets[i];
        const struct spool_target *waiting = spool_state_target(&state, target->shown);
        wanted = waiting == NULL || retry_is_due(target, waiting, queue->waits_over);
        if (!wanted && waiting->state == TARGET_PENDING)
            note_waiting(target, waiting, &waiting_alone);
    }
    spool_state_deinit(&state);
    if (!wanted)
        *totals = waiting_alone;
    return wanted;
}

// read_queued_report reads the report in ID.json, which must be the report with that
// id.
static enum ch_status read_queued_report(int fd, const char *id, json_t **out,
                                         struct report_error *error)
{
    json_t *report = NULL;
    enum ch_status status = report_read(fd, &report, error);
    if (status != CH_OK)
        return status;
    if (strcmp(report_string(report, "id"), id) != 0) {
        (void)snprintf(error->text, sizeof(error->text), "its id is another one");
        json_decref(report);
        return CH_ERR_MALFORMED;
    }
    *out = report;
    return CH_OK;
}

// prepare_raw adds names to a raw report, which the spool gets when it was sent.
static enum ch_status prepare_raw(struct queue *queue, struct parcel *parcel)
{
    if (report_integer(parcel->report, "revision", 0) != 0 || queue->prepare == NULL)
        return CH_OK;
    queue->prepare(queue->context, parcel->report);
    if (report_integer(parcel->report, "revision", 0) == 0)
        return CH_OK;
    enum ch_status status = report_print_kept(parcel->report, &parcel->json);
    parcel->unsaved = status == CH_OK;
    return status;
}

// prepare_report calls prepare_raw and reports a failure: a report without names is
// better than none. If names make the report too large, it is read again without them.
static enum ch_status prepare_report(struct queue *queue, struct parcel *parcel,
                                     struct report_error *error)
{
    enum ch_status status = prepare_raw(queue, parcel);
    if (status == CH_OK)
        return CH_OK;
    text_deinit(&parcel->json);
    say_queue_line(queue, "cannot rewrite report %s: %s", parcel->id,
                   status == CH_ERR_LIMIT ? "with names it is too large"
                                          : spool_why(status));
    if (status != CH_ERR_LIMIT || lseek(*parcel->lock_fd, 0, SEEK_SET) != 0)
        return CH_OK;
    json_decref(parcel->report);
    parcel->report = NULL;
    return read_queued_report(*parcel->lock_fd, parcel->id, &parcel->report, error);
}

// report_unreadable_once reports that a report cannot be read, once for all passes.
static void report_unreadable_once(struct queue *queue, const char *id, const char *why)
{
    for (size_t i = 0; i < queue->reported_count; i++) {
        if (strcmp(queue->reported[i], id) == 0)
            return;
    }
    if (queue->reported_count < QUEUE_REPORTED_MAX)
        (void)snprintf(queue->reported[queue->reported_count++], REPORT_ID_SIZE, "%s",
                       id);
    say_queue_line(queue, "cannot read report %s: %s", id, why);
}

// give_up_delivery skips a report that cannot be read. One that is too large will never
// be readable: it is marked as failed, so that it is not tried again.
static void give_up_delivery(struct queue *queue, const char *id, enum ch_status status,
                             const char *why, struct queue_totals *totals)
{
    struct spool_state CH_CLEANUP(spool_state_deinit) state = { 0 };
    totals->unreadable++;
    report_unreadable_once(queue, id, why);
    if (status != CH_ERR_LIMIT || read_delivery_state(queue, id, &state) != CH_OK)
        return;
    if (mark_targets(queue, id, &state, TARGET_FAILED, why) != CH_OK)
        say_queue_line(queue, "cannot keep the upload state of report %s", id);
}

// open_parcel locks a report, reads it and adds its names.
static enum ch_status open_parcel(struct queue *queue, struct parcel *parcel,
                                  struct report_error *error)
{
    enum ch_status status = spool_lock(queue->spool, parcel->id, &parcel->own_fd);
    if (status != CH_OK) {
        int saved = errno;
        (void)snprintf(error->text, sizeof(error->text), "%s", spool_why(status));
        errno = saved;
        return status;
    }
    status = read_queued_report(parcel->own_fd, parcel->id, &parcel->report, error);
    if (status == CH_OK)
        status = prepare_report(queue, parcel, error);
    // These two must not be taken for results of the lock.
    return status == CH_ERR_IO || status == CH_ERR_NOT_FOUND ? CH_ERR_MALFORMED
                                                             : status;
}

// init_parcel makes the parcel of a report that is to be locked and read.
static void init_parcel(struct parcel *parcel, const char *id)
{
    *parcel = (struct parcel){ .lock_fd = &parcel->own_fd, .own_fd = -1 };
    (void)snprintf(parcel->id, sizeof(parcel->id), "%s", id);
}

static void deinit_parcel(struct parcel *parcel)
{
    text_deinit(&parcel->json);
    spool_state_deinit(&parcel->state);
    json_decref(parcel->report);
    file_close(&parcel->own_fd);
}

// finish_delivery ends a parcel of the spool.
static void finish_delivery(struct queue *queue, struct parcel *parcel,
                            struct queue_totals *totals)
{
    end_parcel(queue, parcel);
    totals->pending += parcel->status != CH_OK;
    if (parcel->status != CH_OK && totals->next_time == 0)
        totals->next_time = time(NULL) + TROUBLE_S;
    deinit_parcel(parcel);
    free(parcel);
}

// await_delivery waits for the parcel that is under way for longest. False: none is.
static bool await_delivery(struct queue *queue, struct queue_totals *totals)
{
    struct parcel *parcel = workers_end(&queue->workers);
    if (parcel == NULL)
        return false;
    note_arrival(queue, parcel, totals);
    if (!continue_parcel(queue, parcel, totals))
        finish_delivery(queue, parcel, totals);
    return true;
}

// start_delivery begins to send one report of the spool, unless another process does.
static void start_delivery(struct queue *queue, const char *id,
                           struct queue_totals *totals)
{
    struct report_error error = { "" };
    struct parcel *parcel = malloc(sizeof(*parcel));
    if (parcel == NULL) {
        give_up_delivery(queue, id, CH_ERR_NO_MEMORY, "out of memory", totals);
        return;
    }
    init_parcel(parcel, id);
    enum ch_status status = open_parcel(queue, parcel, &error);
    if (status == CH_OK) {
        if (!begin_parcel(queue, parcel, totals))
            finish_delivery(queue, parcel, totals);
        return;
    }
    // If it is not there any more, another process pruned it.
    if (status == CH_ERR_IO && errno == EWOULDBLOCK)
        totals->busy++;
    else if (status != CH_ERR_NOT_FOUND)
        give_up_delivery(queue, id, status, error.text, totals);
    deinit_parcel(parcel);
    free(parcel);
}

// release_held_report puts a report that was held back back into the queue, with the
// counts.
static enum ch_status release_held_report(struct queue *queue, const char *id)
{
    struct report_error error = { "" };
    struct parcel parcel;
    struct spool_state *state = &parcel.state;
    init_parcel(&parcel, id);
    enum ch_status status = spool_lock(queue->spool, id, &parcel.own_fd);
    if (status == CH_OK)
        status = read_queued_report(parcel.own_fd, id, &parcel.report, &error);
    if (status == CH_OK)
        status = read_delivery_state(queue, id, state);
    if (status == CH_OK)
        status = take_counts(queue, &parcel);
    for (size_t i = 0; i < state->count; i++) {
        if (state->targets[i].state == TARGET_SKIPPED)
            spool_target_fail(&state->targets[i], TARGET_PENDING, NULL);
    }
    if (status == CH_OK)
        status = spool_state_write(queue->spool, id, state);
    int saved = errno;
    deinit_parcel(&parcel);
    errno = saved;
    return status;
}

// release_held_reports does that for all that may go, and returns when the next one
// may.
static int64_t release_held_reports(struct queue *queue)
{
    struct spool_release release = { .id = "" };
    enum ch_status status = CH_OK;
    do {
        status = spool_counts_release(queue->spool, (uint64_t)time(NULL) * 1000,
                                      queue->rate, &release);
        if (status == CH_OK && release.id[0] != 0)
            status = release_held_report(queue, release.id);
        if (status != CH_OK)
            say_queue_line(queue, "cannot send report %s, which was held back: %s",
                           release.id, spool_why(status));
    } while (status == CH_OK && release.id[0] != 0);
    return (release.next_ms + 999) / 1000;
}

enum ch_status queue_run(struct queue *queue, struct queue_totals *out)
{
    struct spool_listing CH_CLEANUP(spool_listing_deinit) listing = { 0 };
    struct queue_totals totals = { 0 };
    // Without a record, reports would be sent again and again.
    if (faccessat(queue->spool->folder_fd, ".", W_OK, AT_EACCESS) != 0)
        return CH_ERR_IO;
    int64_t next_time = queue->targets.count != 0 ? release_held_reports(queue) : 0;
    enum ch_status status = spool_list(queue->spool, &listing);
    if (status == CH_OK)
        status = queue_order_apply(queue->spool, &listing);
    if (status != CH_OK)
        return status;
    read_waits(queue);
    for (size_t i = 0; i < listing.count; i++) {
        while (queue->workers.count >= workers_open(&queue->workers) &&
               await_delivery(queue, &totals))
            continue;
        queue->step = (struct queue_step){ .index = i, .count = listing.count };
        if (queue->progress != NULL)
            queue->progress(queue->context, &queue->step);
        if (any_target_wants(queue, listing.entries[i].id, &totals))
            start_delivery(queue, listing.entries[i].id, &totals);
    }
    while (await_delivery(queue, &totals))
        continue;
    if (next_time != 0 && (totals.next_time == 0 || next_time < totals.next_time))
        totals.next_time = next_time;
    *out = totals;
    return CH_OK;
}
