// SPDX-License-Identifier: Apache-2.0
//
// The spool's way to the targets: every report is sent to every configured target once.
//
// Reports go one at a time until some have arrived, and then several at once
// (workers_*). A report's state file says what became of it; only the holder of the
// report's lock writes it, so several uploaders can share a spool, and one that dies
// blocks nobody. A target that does not answer is not tried again in the same pass, and
// later after a wait: a second, doubled up to an hour, or what the target requested,
// which is also stored for other processes. A report that a target refuses stays,
// failed, with the reason. Reports that failed before are sent after the others.
// Nothing is deleted here. Users: `crashhook finish`, `upload`.
#pragma once
#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "report/file/report_id.h"
#include "report/spool/spool.h"
#include "report/spool/spool_state.h"
#include "upload/protocol.h"
#include "upload/shipment.h"
#include "upload/target.h"

// Workers do several pieces of work at once, each in a thread of its own, and hand them
// back in the order in which they were begun.
//
// There is one worker at first, which is the calling thread. Once WORKERS_FROM pieces
// in a row have gone well, each more that does adds a worker, and one that does not
// leaves one: a server in trouble gets no parallel requests, and a few pieces need no
// thread and are done in order.

enum { WORKERS_MAX = 8, WORKERS_FROM = 8 };

typedef void worker_fn(void *context);

struct worker {
    worker_fn *work;
    void *context;
    pthread_t thread;
    bool threaded; // false: it is done
};

struct workers {
    struct worker busy[WORKERS_MAX]; // a ring
    size_t first;
    size_t count;
    size_t well; // how many pieces in a row have gone well
};

// queue_say_fn gets one line about something that failed or was done.
typedef void queue_say_fn(void *context, const char *line);

// queue_prepare_fn adds names to a raw report, in place. If it cannot, it leaves the
// report unchanged, and that is sent.
typedef void queue_prepare_fn(void *context, json_t *report);

// queue_step is the position of a pass.
struct queue_step {
    size_t index; // of the current report, out of count
    size_t count;
    uint64_t sent_bytes; // of the current report, out of size_bytes
    uint64_t size_bytes;
};

// queue_progress_fn is called for each report of a pass, and now and then with how much
// of it was sent.
typedef void queue_progress_fn(void *context, const struct queue_step *step);

enum { QUEUE_REPORTED_MAX = 64 };

struct queue {
    const struct spool *spool;
    struct target_list targets;
    const char *token;        // for collectors; "" or NULL: none
    const char *otlp_headers; // for log intakes, one per line; NULL: none
    bool otlp_protobuf;       // log intakes get protobuf, not JSON
    uint64_t deadline_ms; // on CLOCK_MONOTONIC; 0: only timeout_ms limits each request
    uint64_t timeout_ms;  // of one request
    struct spool_rate rate;
    bool waits_over; // retry reports that are not due yet
    queue_prepare_fn *prepare;
    queue_say_fn *say;
    queue_progress_fn *progress; // NULL: not reported
    void *context;
    struct workers workers; // of what is under way
    struct queue_step step; // of the current pass
    char reported[QUEUE_REPORTED_MAX]
                 [REPORT_ID_SIZE]; // unreadable reports that were reported
    size_t reported_count;
};

// queue_totals is what a pass did.
struct queue_totals {
    size_t sent;       // to one target each
    size_t pending;    // pairs of target and report that still wait
    size_t failed;     // refused in this pass
    size_t skipped;    // counted and not sent
    size_t busy;       // reports that another process works on
    size_t unreadable; // files that are not reports
    int64_t next_time; // when to run again, seconds since 1970; 0: nothing waits
};

// queue_send sends one report whose lock the caller holds, and records its state. The
// report in the spool is rewritten if counts were added to it. A failure was reported.
CH_CHECKED enum ch_status queue_send(struct queue *queue, const char *id, int *lock_fd,
                                     json_t *report, struct queue_totals *totals);

// queue_run makes one pass over the spool, oldest report first. It fails only if the
// spool cannot be listed or written.
CH_CHECKED enum ch_status queue_run(struct queue *queue, struct queue_totals *out);

// When a target that did not take a report is tried again.
//
// A report waits as net/http.h says: after each failure longer, or as long as the
// target requested. A target that is down rests as long as the report that failed; a
// wait that it requested is stored in the spool for other processes.

// retry_due_time is when the target may get the report; never before now.
int64_t retry_due_time(const struct target *target, const struct spool_target *waiting,
                       int64_t now);

// retry_is_due is true if the target waits for the report and may get it now.
// any_report: waits of this report alone are ignored.
bool retry_is_due(const struct target *target, const struct spool_target *waiting,
                  bool any_report);

// retry_postpone records when to try again, after this report failed or the whole
// target did.
void retry_postpone(struct target *target, struct spool_target *waiting,
                    const struct verdict *verdict);
