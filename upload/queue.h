// SPDX-License-Identifier: Apache-2.0
//
// The spool's way to the targets: every report goes to every configured target once.
//
// What became of a report is in its state file, written by whoever holds its lock, so
// several uploaders share a spool and one that dies holds nobody up. A target that does
// not answer is left alone for the rest of a pass and asked again later (a second,
// doubled up to an hour, or what it asked for, which is kept for other processes too);
// a report that a target refuses stays, failed, with the reason. Reports that have
// failed before come after the others. Nothing is deleted here. Users: `crashhook
// finish`, `upload`.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "report/report_id.h"
#include "report/spool.h"
#include "report/spool_counts.h"
#include "upload/target.h"

// A queue_say_fn hears one line about something that went wrong or was done.
typedef void queue_say_fn(void *context, const char *line);

// A queue_prepare_fn adds names to a raw report, in place. Where it cannot, it leaves
// the report as it is and that is sent.
typedef void queue_prepare_fn(void *context, json_t *report);

// Where a pass is.
struct queue_step {
    size_t index; // of the report, of count
    size_t count;
    uint64_t sent_bytes; // of what is being sent, of size_bytes
    uint64_t size_bytes;
};

// A queue_progress_fn hears of each report of a pass, and now and then how much of it
// has been sent.
typedef void queue_progress_fn(void *context, const struct queue_step *step);

enum { QUEUE_TOLD_MAX = 64 };

struct queue {
    const struct spool *spool;
    struct target_list targets;
    const char *token;        // a collector's; "" or NULL: none
    const char *otlp_headers; // log intakes', one a line; NULL: none
    uint64_t deadline_ms; // on CLOCK_MONOTONIC; 0: each request has its own time alone
    uint64_t timeout_ms;  // of one request
    struct spool_rate rate;
    bool waits_over; // try reports again although they are not due yet
    queue_prepare_fn *prepare;
    queue_say_fn *say;
    queue_progress_fn *progress; // NULL: nobody wants to know
    void *context;
    struct queue_step step;                    // of the pass that runs
    char told[QUEUE_TOLD_MAX][REPORT_ID_SIZE]; // unreadable ones that were named
    size_t told_count;
};

// What a pass has done.
struct queue_totals {
    size_t sent;       // to one target each
    size_t pending;    // targets times reports that still wait
    size_t failed;     // refused in this pass
    size_t skipped;    // counted instead of sent
    size_t busy;       // reports somebody else works on
    size_t unreadable; // files that are no reports
    int64_t next_time; // when to run again, seconds since 1970; 0: nothing waits
};

// queue_send sends one report whose lock the caller holds, and keeps its state. The
// report in the spool is rewritten when counts join it. On failure the reason was said.
CH_CHECKED enum ch_status queue_send(struct queue *queue, const char *id, int *lock_fd,
                                     json_t *report, struct queue_totals *totals);

// queue_run makes one pass over the spool, oldest first. It fails only where the spool
// cannot be listed or written to.
CH_CHECKED enum ch_status queue_run(struct queue *queue, struct queue_totals *out);
