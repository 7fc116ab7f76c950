// SPDX-License-Identifier: Apache-2.0
#include "upload/queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "report/report.h"
#include "report/spool_state.h"
#include "upload/protocol.h"
#include "upload/retry.h"

enum { TROUBLE_S = 60 };

// parcel is one report on its way.
struct parcel {
    const char *id;
    int *lock_fd;
    json_t *report;
    struct text json; // empty until it is first needed
    struct spool_state state;
};

static void say_queue_line(const struct queue *queue, const char *format, ...)
    CH_PRINTF(2, 3);

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

// read_waits reads what the targets asked of earlier senders. An explicit retry ignores
// what our own collector asked for.
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

// send_to sends the report to one target and records the answer.
static enum ch_status send_to(struct queue *queue, struct target *target,
                              struct parcel *parcel, struct spool_target *waiting)
{
    struct verdict verdict;
    if (parcel->json.size == 0) {
        enum ch_status status = report_print(parcel->report, &parcel->json);
        if (status != CH_OK)
            return status;
    }
    const struct shipment shipment = {
        .id = parcel->id,
        .report = parcel->report,
        .json = parcel->json.bytes,
        .size = parcel->json.size,
        .token = queue->token,
        .otlp_headers = queue->otlp_headers,
        .expand = !spool_wait_over(&target->tables_rest, time(NULL)),
        .attach = spool_wait_over(&target->attachments_rest, time(NULL)),
        .timeout_ms = time_left_ms(queue),
        .progress = queue->progress != NULL ? tell_bytes : NULL,
        .context = queue,
    };
    protocol_of(target->kind)->send(target, &shipment, &verdict);
    return apply_verdict(queue, target, parcel, waiting, &verdict);
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

// hold_back marks the report as skipped for every target.
static enum ch_status hold_back(struct queue *queue, struct parcel *parcel)
{
    char why[96];
    (void)snprintf(why, sizeof(why), "held back: more than %llu crashes in %llu ms",
                   (unsigned long long)queue->rate.count,
                   (unsigned long long)queue->rate.ms);
    return mark_targets(queue, parcel->id, &parcel->state, TARGET_SKIPPED, why);
}

// take_counts adds to a report the counts of its program's crashes that were not sent,
// and stores the result.
static enum ch_status take_counts(struct queue *queue, const char *id, int *lock_fd,
                                  json_t *report)
{
    struct text CH_CLEANUP(text_deinit) json = { 0 };
    bool changed = false;
    enum ch_status status =
        spool_counts_take(queue->spool, executable_of(report), report, &changed);
    if (status != CH_OK || !changed)
        return status;
    status = report_print(report, &json);
    if (status == CH_OK)
        status = spool_replace(queue->spool, id, json.bytes, json.size, lock_fd);
    return status;
}

// admit_report handles a report that is new to the queue: it checks its program's rate,
// and adds counts that the report has to carry. It rewrites the report if that changed
// it.
static enum ch_status admit_report(struct queue *queue, struct parcel *parcel,
                                   bool *out_send)
{
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
    if (!*out_send)
        return hold_back(queue, parcel);
    return take_counts(queue, parcel->id, parcel->lock_fd, parcel->report);
}

static enum ch_status send_to_all(struct queue *queue, struct parcel *parcel,
                                  struct queue_totals *totals)
{
    size_t noted = parcel->state.count;
    enum ch_status status = CH_OK;
    for (size_t i = 0; i < queue->targets.count && status == CH_OK; i++) {
        struct target *target = &queue->targets.targets[i];
        struct spool_target *waiting =
            spool_state_target(&parcel->state, target->shown);
        if (waiting == NULL)
            return CH_ERR_NO_MEMORY;
        if (retry_is_due(target, waiting, queue->waits_over)) {
            status = send_to(queue, target, parcel, waiting);
            if (status == CH_OK)
                status = spool_state_write(queue->spool, parcel->id, &parcel->state);
            noted = parcel->state.count;
            totals->sent += waiting->state == TARGET_SENT;
            totals->failed += waiting->state == TARGET_FAILED;
        }
        if (waiting->state == TARGET_PENDING)
            note_waiting(target, waiting, totals);
    }
    // Targets that were not due are recorded too, as what the report still waits for.
    if (status == CH_OK && noted != parcel->state.count)
        status = spool_state_write(queue->spool, parcel->id, &parcel->state);
    return status;
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

static enum ch_status send_parcel(struct queue *queue, struct parcel *parcel,
                                  struct queue_totals *totals)
{
    bool send = true;
    enum ch_status status = read_delivery_state(queue, parcel->id, &parcel->state);
    if (status == CH_OK && parcel->state.count == 0 && queue->targets.count != 0)
        status = admit_report(queue, parcel, &send);
    if (status == CH_OK && send)
        status = send_to_all(queue, parcel, totals);
    totals->skipped += !send;
    return status;
}

static enum ch_status send_report(struct queue *queue, const char *id, int *lock_fd,
                                  json_t *report, struct queue_totals *totals)
{
    struct parcel parcel = { .id = id, .lock_fd = lock_fd, .report = report };
    enum ch_status status = send_parcel(queue, &parcel, totals);
    int saved = errno;
    text_deinit(&parcel.json);
    spool_state_deinit(&parcel.state);
    errno = saved;
    if (status != CH_OK)
        say_queue_line(queue, "cannot keep the upload state of report %s: %s", id,
                       spool_why(status));
    return status;
}

enum ch_status queue_send(struct queue *queue, const char *id, int *lock_fd,
                          json_t *report, struct queue_totals *totals)
{
    read_waits(queue);
    return send_report(queue, id, lock_fd, report, totals);
}

// any_target_wants says whether any target may get this report now; if none may, the
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

// prepare_raw adds names to a raw report and stores the result.
static enum ch_status prepare_raw(struct queue *queue, const char *id, int *lock_fd,
                                  json_t *report)
{
    struct text CH_CLEANUP(text_deinit) json = { 0 };
    if (report_integer(report, "revision", 0) != 0 || queue->prepare == NULL)
        return CH_OK;
    queue->prepare(queue->context, report);
    if (report_integer(report, "revision", 0) == 0)
        return CH_OK;
    enum ch_status status = report_print_kept(report, &json);
    if (status == CH_OK)
        status = spool_replace(queue->spool, id, json.bytes, json.size, lock_fd);
    return status;
}

// prepare_report calls prepare_raw and reports a failure: a report without names is
// better than none. If names make the report too large, it is read again without them.
static enum ch_status prepare_report(struct queue *queue, const char *id, int *lock_fd,
                                     json_t **report, struct report_error *error)
{
    enum ch_status status = prepare_raw(queue, id, lock_fd, *report);
    if (status == CH_OK)
        return CH_OK;
    say_queue_line(queue, "cannot rewrite report %s: %s", id,
                   status == CH_ERR_LIMIT ? "with names it is too large"
                                          : spool_why(status));
    if (status != CH_ERR_LIMIT || lseek(*lock_fd, 0, SEEK_SET) != 0)
        return CH_OK;
    json_decref(*report);
    *report = NULL;
    return read_queued_report(*lock_fd, id, report, error);
}

// tell_once reports that a report cannot be read, once for all passes.
static void tell_once(struct queue *queue, const char *id, const char *why)
{
    for (size_t i = 0; i < queue->told_count; i++) {
        if (strcmp(queue->told[i], id) == 0)
            return;
    }
    if (queue->told_count < QUEUE_TOLD_MAX)
        (void)snprintf(queue->told[queue->told_count++], REPORT_ID_SIZE, "%s", id);
    say_queue_line(queue, "cannot read report %s: %s", id, why);
}

// give_up_delivery skips a report that cannot be read. One that is too large will never
// be readable: it is marked as failed, so that it is not tried again.
static void give_up_delivery(struct queue *queue, const char *id, enum ch_status status,
                             const char *why, struct queue_totals *totals)
{
    struct spool_state CH_CLEANUP(spool_state_deinit) state = { 0 };
    totals->unreadable++;
    tell_once(queue, id, why);
    if (status != CH_ERR_LIMIT || read_delivery_state(queue, id, &state) != CH_OK)
        return;
    if (mark_targets(queue, id, &state, TARGET_FAILED, why) != CH_OK)
        say_queue_line(queue, "cannot keep the upload state of report %s", id);
}

// open_queued_report locks a report, reads it and adds its names.
static enum ch_status open_queued_report(struct queue *queue, const char *id,
                                         int *out_fd, json_t **out,
                                         struct report_error *error)
{
    enum ch_status status = spool_lock(queue->spool, id, out_fd);
    if (status != CH_OK) {
        int saved = errno;
        (void)snprintf(error->text, sizeof(error->text), "%s", spool_why(status));
        errno = saved;
        return status;
    }
    status = read_queued_report(*out_fd, id, out, error);
    if (status == CH_OK)
        status = prepare_report(queue, id, out_fd, out, error);
    // CH_ERR_IO and CH_ERR_NOT_FOUND from here must not be taken for results of the
    // lock.
    return status == CH_ERR_IO || status == CH_ERR_NOT_FOUND ? CH_ERR_MALFORMED
                                                             : status;
}

// run_delivery sends one report of the spool, unless another process does.
static void run_delivery(struct queue *queue, const char *id,
                         struct queue_totals *totals)
{
    struct report_error error = { "" };
    json_auto_t *report = NULL;
    int CH_CLEANUP(file_close) fd = -1;
    enum ch_status status = open_queued_report(queue, id, &fd, &report, &error);
    if (status == CH_ERR_NOT_FOUND)
        return; // another process pruned it
    if (status == CH_ERR_IO && errno == EWOULDBLOCK) {
        totals->busy++;
        return;
    }
    if (status != CH_OK) {
        give_up_delivery(queue, id, status, error.text, totals);
        return;
    }
    if (send_report(queue, id, &fd, report, totals) == CH_OK)
        return;
    totals->pending++;
    if (totals->next_time == 0)
        totals->next_time = time(NULL) + TROUBLE_S;
}

// let_go_of_report puts a report that was held back back into the queue, with the
// counts.
static enum ch_status let_go_of_report(struct queue *queue, const char *id)
{
    struct report_error error = { "" };
    struct spool_state CH_CLEANUP(spool_state_deinit) state = { 0 };
    json_auto_t *report = NULL;
    int CH_CLEANUP(file_close) fd = -1;
    enum ch_status status = spool_lock(queue->spool, id, &fd);
    if (status == CH_OK)
        status = read_queued_report(fd, id, &report, &error);
    if (status == CH_OK)
        status = read_delivery_state(queue, id, &state);
    if (status == CH_OK)
        status = take_counts(queue, id, &fd, report);
    for (size_t i = 0; i < state.count; i++) {
        if (state.targets[i].state == TARGET_SKIPPED)
            spool_target_fail(&state.targets[i], TARGET_PENDING, NULL);
    }
    return status == CH_OK ? spool_state_write(queue->spool, id, &state) : status;
}

// let_all_go does that for all reports that may go, and returns when the next one may.
static int64_t let_all_go(struct queue *queue)
{
    struct spool_release release = { .id = "" };
    enum ch_status status = CH_OK;
    do {
        status = spool_counts_release(queue->spool, (uint64_t)time(NULL) * 1000,
                                      queue->rate, &release);
        if (status == CH_OK && release.id[0] != 0)
            status = let_go_of_report(queue, release.id);
        if (status != CH_OK)
            say_queue_line(queue, "cannot send report %s, which was held back: %s",
                           release.id, spool_why(status));
    } while (status == CH_OK && release.id[0] != 0);
    return (release.next_ms + 999) / 1000;
}

// has_failed is true if a target was sent the report before and did not take it.
static bool has_failed(const struct queue *queue, const char *id)
{
    struct spool_state state;
    bool failed = false;
    if (spool_state_read(queue->spool, id, &state) != CH_OK)
        return false;
    for (size_t i = 0; i < state.count && !failed; i++)
        failed = state.targets[i].state == TARGET_PENDING && state.targets[i].attempts;
    spool_state_deinit(&state);
    return failed;
}

// put_failed_last moves reports that failed before after the others: a report that
// makes a server fail must not keep it from all other reports.
static enum ch_status put_failed_last(const struct queue *queue,
                                      struct spool_listing *listing)
{
    struct spool_entry *failed = calloc(listing->count + 1, sizeof(*failed));
    size_t failed_count = 0;
    size_t kept = 0;
    if (failed == NULL)
        return CH_ERR_NO_MEMORY;
    for (size_t i = 0; i < listing->count; i++) {
        if (has_failed(queue, listing->entries[i].id))
            failed[failed_count++] = listing->entries[i];
        else
            listing->entries[kept++] = listing->entries[i];
    }
    if (failed_count != 0)
        memcpy(&listing->entries[kept], failed, failed_count * sizeof(*failed));
    free(failed);
    return CH_OK;
}

enum ch_status queue_run(struct queue *queue, struct queue_totals *out)
{
    struct spool_listing CH_CLEANUP(spool_listing_deinit) listing = { 0 };
    struct queue_totals totals = { 0 };
    // Without a record of what was sent, reports would be sent again and again.
    if (faccessat(queue->spool->folder_fd, ".", W_OK, AT_EACCESS) != 0)
        return CH_ERR_IO;
    int64_t next_time = queue->targets.count != 0 ? let_all_go(queue) : 0;
    enum ch_status status = spool_list(queue->spool, &listing);
    if (status == CH_OK)
        status = put_failed_last(queue, &listing);
    if (status != CH_OK)
        return status;
    read_waits(queue);
    for (size_t i = 0; i < listing.count; i++) {
        queue->step = (struct queue_step){ .index = i, .count = listing.count };
        if (queue->progress != NULL)
            queue->progress(queue->context, &queue->step);
        if (any_target_wants(queue, listing.entries[i].id, &totals))
            run_delivery(queue, listing.entries[i].id, &totals);
    }
    if (next_time != 0 && (totals.next_time == 0 || next_time < totals.next_time))
        totals.next_time = next_time;
    *out = totals;
    return CH_OK;
}
