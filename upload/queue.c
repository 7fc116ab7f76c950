// SPDX-License-Identifier: Apache-2.0
#include "upload/queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "report/report.h"
#include "report/spool_state.h"
#include "report/spool_waits.h"
#include "upload/collector.h"
#include "upload/otlp.h"
#include "upload/sentry.h"

enum { BACKOFF_FIRST_S = 1, BACKOFF_MAX_S = 3600, TROUBLE_S = 60 };

// How each kind of target is sent a report.
typedef void send_fn(const struct target *target, const struct shipment *shipment,
                     struct verdict *out);
static send_fn *const senders[] = {
    [TARGET_KIND_COLLECTOR] = collector_send,
    [TARGET_KIND_SENTRY] = sentry_send,
    [TARGET_KIND_OTLP] = otlp_send,
};

// One report on its way.
struct parcel {
    const char *id;
    int *lock_fd;
    json_t *report;
    struct text json; // empty until it is first needed
    struct spool_state state;
};

static void close_fd(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

static void drop_json(json_t *const *value)
{
    json_decref(*value);
}

static void say(const struct queue *queue, const char *format, ...) CH_PRINTF(2, 3);

static void say(const struct queue *queue, const char *format, ...)
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
    struct timespec now = { 0 };
    if (queue->deadline_ms == 0)
        return queue->timeout_ms;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    uint64_t left = queue->deadline_ms > now_ms ? queue->deadline_ms - now_ms : 0;
    return left < queue->timeout_ms ? left : queue->timeout_ms;
}

// backoff_s is how long to wait after this many failures: doubled each time, and spread
// by half so that machines that failed together do not come back together.
static int64_t backoff_s(uint32_t attempts)
{
    uint32_t random = 0;
    int64_t wait = BACKOFF_FIRST_S;
    for (uint32_t i = 1; i < attempts && wait < BACKOFF_MAX_S; i++)
        wait *= 2;
    if (wait > BACKOFF_MAX_S)
        wait = BACKOFF_MAX_S;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
        random = (uint32_t)time(NULL);
    return wait - wait / 4 + (int64_t)(random % (uint64_t)(wait / 2 + 1));
}

// due_time is when the target may be asked to take the report.
static int64_t due_time(const struct target *target, const struct spool_target *waiting,
                        int64_t now)
{
    int64_t due = now;
    if (!spool_wait_over(&target->rest, now))
        due = target->rest.until;
    if (!spool_wait_over(&waiting->wait, now) && waiting->wait.until > due)
        due = waiting->wait.until;
    return due;
}

// note_waiting counts a target that still waits for a report.
static void note_waiting(const struct target *target,
                         const struct spool_target *waiting,
                         struct queue_totals *totals)
{
    int64_t now = time(NULL);
    int64_t next = due_time(target, waiting, now);
    totals->pending++;
    if (totals->next_time == 0 || next < totals->next_time)
        totals->next_time = next;
}

// wait_of is a wait of so many seconds from now, and not of a fraction less.
static struct spool_wait wait_of(int64_t seconds)
{
    int64_t now = time(NULL);
    return (struct spool_wait){ .noted = now, .until = now + seconds + 1 };
}

// postpone notes when to ask again, after this report failed or the whole target did.
static void postpone(struct target *target, struct spool_target *waiting,
                     const struct verdict *verdict)
{
    uint32_t failures = waiting->attempts;
    if (verdict->target_down && ++target->failures > failures)
        failures = target->failures;
    waiting->wait =
        wait_of(verdict->wait_s >= 0 ? verdict->wait_s : backoff_s(failures));
    if (verdict->target_down)
        target->rest = waiting->wait;
}

// note_waits keeps what the target asked for, for us and for whoever sends next.
static enum ch_status note_waits(const struct queue *queue, struct target *target,
                                 const struct verdict *verdict)
{
    if (verdict->wait_s < 0 && verdict->attachments_wait_s < 0)
        return CH_OK;
    if (verdict->wait_s >= 0)
        target->rest = wait_of(verdict->wait_s);
    if (verdict->attachments_wait_s >= 0)
        target->attachments_rest = wait_of(verdict->attachments_wait_s);
    const struct spool_waits waits = { .reports = target->rest,
                                       .attachments = target->attachments_rest };
    return spool_waits_write(queue->spool, target->shown, &waits, time(NULL));
}

// read_waits learns what the targets asked of those who sent before us. A collector of
// one's own is asked all the same by who wants it asked now.
static void read_waits(struct queue *queue)
{
    for (size_t i = 0; i < queue->targets.count; i++) {
        struct target *target = &queue->targets.targets[i];
        if (queue->waits_over && target->kind == TARGET_KIND_COLLECTOR)
            continue;
        const struct spool_waits waits = spool_waits_read(queue->spool, target->shown);
        if (waits.reports.until > target->rest.until)
            target->rest = waits.reports;
        target->attachments_rest = waits.attachments;
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
    // A target that stays down is one line, whichever report it is asked to take.
    if (verdict->state != TARGET_SENT &&
        (!verdict->target_down || strcmp(target->trouble, verdict->why) != 0))
        say(queue, "cannot upload report %s to '%s': %s", parcel->id, target->shown,
            verdict->why);
    (void)snprintf(target->trouble, sizeof(target->trouble), "%s", verdict->why);
    if (verdict->state == TARGET_PENDING)
        postpone(target, waiting, verdict);
    else
        target->failures = 0;
    return note_waits(queue, target, verdict);
}

static void tell_bytes(void *context, uint64_t sent, uint64_t size)
{
    struct queue *queue = context;
    queue->step.sent_bytes = sent;
    queue->step.size_bytes = size;
    queue->progress(queue->context, &queue->step);
}

// send_to asks one target to take the report.
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
        .attach = spool_wait_over(&target->attachments_rest, time(NULL)),
        .timeout_ms = time_left_ms(queue),
        .progress = queue->progress != NULL ? tell_bytes : NULL,
        .context = queue,
    };
    senders[target->kind](target, &shipment, &verdict);
    return apply_verdict(queue, target, parcel, waiting, &verdict);
}

static const char *executable_of(const json_t *report)
{
    const char *executable =
        report_string(json_object_get(report, "process"), "executable");
    return executable != NULL ? executable : "";
}

// hold_back marks every target as spared this report.
static enum ch_status hold_back(struct queue *queue, struct parcel *parcel)
{
    char why[96];
    (void)snprintf(why, sizeof(why), "held back: more than %llu crashes in %llu ms",
                   (unsigned long long)queue->rate.count,
                   (unsigned long long)queue->rate.ms);
    for (size_t i = 0; i < queue->targets.count; i++) {
        struct spool_target *spared =
            spool_state_target(&parcel->state, queue->targets.targets[i].shown);
        if (spared == NULL)
            return CH_ERR_NO_MEMORY;
        spool_target_fail(spared, TARGET_SKIPPED, why);
    }
    return spool_state_write(queue->spool, parcel->id, &parcel->state);
}

// take_counts adds to a report what its program's others only counted for, and keeps
// the result.
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

// admit looks at a report for the first time: is its program within its rate, and are
// there counts that it should carry? It rewrites the report where it changed.
static enum ch_status admit(struct queue *queue, struct parcel *parcel, bool *out_send)
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

// is_due: this target waits for the report and may be asked now.
static bool is_due(const struct queue *queue, const struct target *target,
                   const struct spool_target *waiting)
{
    int64_t now = time(NULL);
    if (waiting->state != TARGET_PENDING || !spool_wait_over(&target->rest, now))
        return false;
    return queue->waits_over || spool_wait_over(&waiting->wait, now);
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
        if (is_due(queue, target, waiting)) {
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
    // Targets that rest are listed as what the report still waits for.
    if (status == CH_OK && noted != parcel->state.count)
        status = spool_state_write(queue->spool, parcel->id, &parcel->state);
    return status;
}

// read_state reads what became of the report; a damaged file counts as none.
static enum ch_status read_state(const struct queue *queue, const char *id,
                                 struct spool_state *out)
{
    enum ch_status status = spool_state_read(queue->spool, id, out);
    if (status == CH_ERR_MALFORMED) {
        say(queue, "cannot understand the upload state of report %s: it starts anew",
            id);
        status = CH_OK;
    }
    return status;
}

static enum ch_status send_parcel(struct queue *queue, struct parcel *parcel,
                                  struct queue_totals *totals)
{
    bool send = true;
    enum ch_status status = read_state(queue, parcel->id, &parcel->state);
    if (status == CH_OK && parcel->state.count == 0 && queue->targets.count != 0)
        status = admit(queue, parcel, &send);
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
        say(queue, "cannot keep the upload state of report %s: %s", id,
            spool_why(status));
    return status;
}

enum ch_status queue_send(struct queue *queue, const char *id, int *lock_fd,
                          json_t *report, struct queue_totals *totals)
{
    read_waits(queue);
    return send_report(queue, id, lock_fd, report, totals);
}

// wants is whether any target may be asked to take this report now; where none may, the
// ones that wait are counted.
static bool wants(struct queue *queue, const char *id, struct queue_totals *totals)
{
    struct spool_state state;
    struct queue_totals waiting_alone = *totals;
    bool wanted = false;
    if (read_state(queue, id, &state) != CH_OK)
        return true; // what is wrong is said when it is locked
    for (size_t i = 0; i < queue->targets.count && !wanted; i++) {
        const struct target *target = &queue->targets.targets[i];
        const struct spool_target *waiting = spool_state_target(&state, target->shown);
        wanted = waiting == NULL || is_due(queue, target, waiting);
        if (!wanted && waiting->state == TARGET_PENDING)
            note_waiting(target, waiting, &waiting_alone);
    }
    spool_state_deinit(&state);
    if (!wanted)
        *totals = waiting_alone;
    return wanted;
}

// prepare_raw adds names to a report that is still raw and keeps the result.
static enum ch_status prepare_raw(struct queue *queue, const char *id, int *lock_fd,
                                  json_t *report)
{
    struct text CH_CLEANUP(text_deinit) json = { 0 };
    if (report_integer(report, "revision", 0) != 0 || queue->prepare == NULL)
        return CH_OK;
    queue->prepare(queue->context, report);
    if (report_integer(report, "revision", 0) == 0)
        return CH_OK;
    enum ch_status status = report_print(report, &json);
    if (status == CH_OK)
        status = spool_replace(queue->spool, id, json.bytes, json.size, lock_fd);
    return status;
}

// read_own reads the report in ID.json, which has to be the report called id.
static enum ch_status read_own(int fd, const char *id, json_t **out,
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

// run_one sends one report of the spool, if nobody else does.
static void run_one(struct queue *queue, const char *id, struct queue_totals *totals)
{
    struct report_error error = { "" };
    json_t *CH_CLEANUP(drop_json) report = NULL;
    int CH_CLEANUP(close_fd) fd = -1;
    enum ch_status status = spool_lock(queue->spool, id, &fd);
    if (status == CH_ERR_NOT_FOUND)
        return; // another one pruned it
    if (status == CH_ERR_IO && errno == EWOULDBLOCK) {
        totals->busy++;
        return;
    }
    if (status != CH_OK)
        (void)snprintf(error.text, sizeof(error.text), "%s", spool_why(status));
    else
        status = read_own(fd, id, &report, &error);
    if (status != CH_OK) {
        totals->unreadable++;
        say(queue, "cannot read report %s: %s", id, error.text);
        return;
    }
    status = prepare_raw(queue, id, &fd, report);
    if (status != CH_OK)
        say(queue, "cannot rewrite report %s: %s", id, spool_why(status));
    // A report without names is better than none.
    if (send_report(queue, id, &fd, report, totals) == CH_OK)
        return;
    totals->pending++;
    if (totals->next_time == 0)
        totals->next_time = time(NULL) + TROUBLE_S;
}

// let_go makes a report that was held back wait for its targets, with the counts.
static enum ch_status let_go(struct queue *queue, const char *id)
{
    struct report_error error = { "" };
    struct spool_state CH_CLEANUP(spool_state_deinit) state = { 0 };
    json_t *CH_CLEANUP(drop_json) report = NULL;
    int CH_CLEANUP(close_fd) fd = -1;
    enum ch_status status = spool_lock(queue->spool, id, &fd);
    if (status == CH_OK)
        status = read_own(fd, id, &report, &error);
    if (status == CH_OK)
        status = read_state(queue, id, &state);
    if (status == CH_OK)
        status = take_counts(queue, id, &fd, report);
    for (size_t i = 0; i < state.count; i++) {
        if (state.targets[i].state == TARGET_SKIPPED)
            spool_target_fail(&state.targets[i], TARGET_PENDING, NULL);
    }
    return status == CH_OK ? spool_state_write(queue->spool, id, &state) : status;
}

// let_all_go does so with all that may go, and says when the next one may.
static int64_t let_all_go(struct queue *queue)
{
    struct spool_release release = { .id = "" };
    enum ch_status status = CH_OK;
    do {
        status = spool_counts_release(queue->spool, (uint64_t)time(NULL) * 1000,
                                      queue->rate, &release);
        if (status == CH_OK && release.id[0] != 0)
            status = let_go(queue, release.id);
        if (status != CH_OK)
            say(queue, "cannot send report %s, which was held back: %s", release.id,
                spool_why(status));
    } while (status == CH_OK && release.id[0] != 0);
    return (release.next_ms + 999) / 1000;
}

// has_failed: some target was asked to take the report and could not.
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

// put_failed_last moves reports that have failed before behind the others: one that a
// server chokes on must not keep it from all the rest.
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
    // What cannot be noted would be sent again and again.
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
        if (wants(queue, listing.entries[i].id, &totals))
            run_one(queue, listing.entries[i].id, &totals);
    }
    if (next_time != 0 && (totals.next_time == 0 || next_time < totals.next_time))
        totals.next_time = next_time;
    *out = totals;
    return CH_OK;
}
