// SPDX-License-Identifier: Apache-2.0
//
// Ingest is the only way into the store: a bounded queue and the thread that empties
// it.
//
// The thread takes whatever is waiting, stores it in one transaction, and only then
// answers each upload. So an answer means that the report is durable, and uploads that
// arrive together share one fsync without waiting for a batch to fill. A full queue
// does not grow: it refuses the report, and the sender gets a 429.
//
// Where nothing is to be stored the thread checks the store instead, every two seconds.
// So ingest_ready knows how the store is without waiting for it.
//
// A store that hangs holds the thread, but no sender: ingest_tick answers uploads that
// have waited too long. Those that still wait in the queue leave it and are done. Those
// that the store has are late: they are done when it returns, with nobody to answer.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "collector/store/store.h"

struct ingest;
struct ingest_item;

// ingest_done_fn is called once the item was stored or refused; the caller owns the
// item again.
typedef void ingest_done_fn(struct ingest_item *item);

// ingest_late_fn is called at most once, before done, of an item whose sender should
// not wait longer. The item and its upload still belong to ingest, whose lock is held.
typedef void ingest_late_fn(struct ingest_item *item);

// ingest_item belongs to ingest from a successful ingest_submit until done is called.
struct ingest_item {
    struct store_upload upload;
    ingest_done_fn *done;
    ingest_late_fn *late;
    enum ch_status
        status; // CH_OK: it is durable, and upload.outcome says what was done
    int64_t submitted_ms;
    bool is_late;
    struct ingest_item *next;
};

struct ingest_limits {
    size_t batch;        // most uploads of one transaction
    size_t queue;        // most uploads waiting
    size_t queue_bytes;  // most bytes of bodies waiting
    int64_t patience_ms; // longest wait of an upload while the store hangs
    // store_add, or a test's replacement.
    enum ch_status (*add)(struct store *store, struct store_upload *uploads,
                          size_t count, char error[STORE_ERROR_SIZE]);
    // store_check, or NULL: the store is not checked.
    enum ch_status (*check)(struct store *store, char error[STORE_ERROR_SIZE]);
};

// ingest_complain_fn gets one line about every batch that could not be stored, and
// about the first check that failed.
typedef void ingest_complain_fn(const char *error);

// ingest_create starts the thread; store must outlive it.
CH_CHECKED enum ch_status ingest_create(struct store *store,
                                        const struct ingest_limits *limits,
                                        ingest_complain_fn *complain,
                                        struct ingest **out);

// ingest_destroy stores what is waiting, ends the thread and frees the queue.
void ingest_destroy(struct ingest *ingest);

// ingest_stop is the first half of ingest_destroy: after it nothing is waiting, every
// done was called, and ingest_submit refuses.
void ingest_stop(struct ingest *ingest);

// ingest_submit hands an item over. CH_ERR_LIMIT: the queue is full. CH_END: stopped.
CH_CHECKED enum ch_status ingest_submit(struct ingest *ingest,
                                        struct ingest_item *item);

// ingest_tick is called about every second, with the time of CLOCK_MONOTONIC.
void ingest_tick(struct ingest *ingest, int64_t now_ms);

// ingest_waiting reports how many reports wait, and how many bytes of bodies.
void ingest_waiting(struct ingest *ingest, size_t *out_count, size_t *out_bytes);

// ingest_ready returns true if the store took what it was given last, and has answered
// within the last ten seconds.
bool ingest_ready(struct ingest *ingest);
