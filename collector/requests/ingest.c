// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/ingest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

enum { CHECK_MS = 2000, READY_MS = 10000 };

struct ingest {
    struct store *store;
    struct ingest_limits limits;
    ingest_complain_fn *complain;
    pthread_t thread;
    struct store_upload *batch; // limits.batch of them; only the thread uses it
    _Atomic int64_t worked_ms;  // when the store did last what it was asked to
    atomic_bool failed;         // it has failed since

    pthread_mutex_t lock; // guards everything below
    pthread_cond_t changed;
    struct ingest_item *first;
    struct ingest_item **end;
    size_t waiting;
    size_t waiting_bytes;
    struct ingest_item *stored; // those that the store is working on
    int64_t worked_since_ms;    // since when it has completed nothing; 0: it is idle
    bool stopping;
    bool joined;
};

// begin_work notes that the store is about to work on items, or on a check.
static void begin_work(struct ingest *ingest, struct ingest_item *items)
{
    pthread_mutex_lock(&ingest->lock);
    ingest->stored = items;
    if (ingest->worked_since_ms == 0)
        ingest->worked_since_ms = (int64_t)clock_now_ms(CLOCK_MONOTONIC);
    pthread_mutex_unlock(&ingest->lock);
}

// end_work notes how the store did, and returns whether it failed before too. No item
// becomes late any more.
static bool end_work(struct ingest *ingest, enum ch_status status)
{
    pthread_mutex_lock(&ingest->lock);
    ingest->stored = NULL;
    if (status == CH_OK)
        ingest->worked_since_ms = 0;
    pthread_mutex_unlock(&ingest->lock);
    if (status == CH_OK)
        ingest->worked_ms = (int64_t)clock_now_ms(CLOCK_MONOTONIC);
    return atomic_exchange(&ingest->failed, status != CH_OK);
}

bool ingest_ready(struct ingest *ingest)
{
    int64_t age_ms = (int64_t)clock_now_ms(CLOCK_MONOTONIC) - ingest->worked_ms;
    return !ingest->failed && (ingest->limits.check == NULL || age_ms < READY_MS);
}

// await_items waits for the first item with the lock held, and returns whether the time
// for a check came before.
static bool await_items(struct ingest *ingest)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += CHECK_MS / 1000;
    int result = 0;
    while (ingest->first == NULL && !ingest->stopping && result == 0)
        result = ingest->limits.check == NULL
                     ? pthread_cond_wait(&ingest->changed, &ingest->lock)
                     : pthread_cond_timedwait(&ingest->changed, &ingest->lock, &until);
    return ingest->first == NULL && !ingest->stopping;
}

static void check_store(struct ingest *ingest)
{
    char error[STORE_ERROR_SIZE];
    begin_work(ingest, NULL);
    enum ch_status status = ingest->limits.check(ingest->store, error);
    bool failed_before = end_work(ingest, status);
    if (status != CH_OK && !failed_before)
        ingest->complain(error);
}

// take_first removes the first items from the queue, at most so many, that were
// submitted at that time at the latest.
static struct ingest_item *take_first(struct ingest *ingest, size_t most,
                                      int64_t until_ms, size_t *out_count)
{
    struct ingest_item *first = ingest->first;
    struct ingest_item **end = &first;
    size_t count = 0;
    while (*end != NULL && count < most && (*end)->submitted_ms <= until_ms) {
        ingest->waiting_bytes -= (*end)->upload.body_size;
        end = &(*end)->next;
        count++;
    }
    ingest->first = *end;
    if (ingest->first == NULL)
        ingest->end = &ingest->first;
    *end = NULL;
    ingest->waiting -= count;
    *out_count = count;
    return first;
}

// take_ingested waits for items and removes the first ones from the queue, at most a
// batch; NULL: ingest was stopped and the queue is empty.
static struct ingest_item *take_ingested(struct ingest *ingest, size_t *out_count)
{
    pthread_mutex_lock(&ingest->lock);
    while (await_items(ingest)) {
        pthread_mutex_unlock(&ingest->lock);
        check_store(ingest);
        pthread_mutex_lock(&ingest->lock);
    }

    struct ingest_item *first =
        take_first(ingest, ingest->limits.batch, INT64_MAX, out_count);
    pthread_mutex_unlock(&ingest->lock);
    return first;
}

static void store_batch(struct ingest *ingest, struct ingest_item *first, size_t count)
{
    char error[STORE_ERROR_SIZE];
    size_t i = 0;
    for (struct ingest_item *item = first; item != NULL; item = item->next)
        ingest->batch[i++] = item->upload;
    begin_work(ingest, first);
    enum ch_status status =
        ingest->limits.add(ingest->store, ingest->batch, count, error);
    end_work(ingest, status);
    if (status != CH_OK)
        ingest->complain(error);

    i = 0;
    while (first != NULL) {
        struct ingest_item *next = first->next;
        first->status = status;
        first->upload = ingest->batch[i++];
        first->done(first);
        first = next;
    }
}

static void *ingest_main(void *context)
{
    struct ingest *ingest = context;
    size_t count = 0;
    struct ingest_item *first;
    while ((first = take_ingested(ingest, &count)) != NULL)
        store_batch(ingest, first, count);
    return NULL;
}

enum ch_status ingest_create(struct store *store, const struct ingest_limits *limits,
                             ingest_complain_fn *complain, struct ingest **out)
{
    struct ingest *ingest = calloc(1, sizeof(*ingest));
    struct store_upload *batch = calloc(limits->batch, sizeof(*batch));
    if (ingest == NULL || batch == NULL) {
        free(ingest);
        free(batch);
        return CH_ERR_NO_MEMORY;
    }
    *ingest = (struct ingest){ .store = store,
                               .limits = *limits,
                               .complain = complain,
                               .batch = batch,
                               .end = &ingest->first };
    pthread_mutex_init(&ingest->lock, NULL);
    ingest->worked_ms = (int64_t)clock_now_ms(CLOCK_MONOTONIC);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&ingest->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (pthread_create(&ingest->thread, NULL, ingest_main, ingest) != 0) {
        ingest->joined = true;
        ingest_destroy(ingest);
        return CH_ERR_IO;
    }
    *out = ingest;
    return CH_OK;
}

void ingest_destroy(struct ingest *ingest)
{
    if (ingest == NULL)
        return;
    ingest_stop(ingest);
    pthread_cond_destroy(&ingest->changed);
    pthread_mutex_destroy(&ingest->lock);
    free(ingest->batch);
    free(ingest);
}

void ingest_stop(struct ingest *ingest)
{
    pthread_mutex_lock(&ingest->lock);
    ingest->stopping = true;
    pthread_cond_signal(&ingest->changed);
    bool join = !ingest->joined;
    ingest->joined = true;
    pthread_mutex_unlock(&ingest->lock);
    if (join)
        pthread_join(ingest->thread, NULL);
}

enum ch_status ingest_submit(struct ingest *ingest, struct ingest_item *item)
{
    enum ch_status status = CH_OK;
    item->next = NULL;
    item->is_late = false;
    item->submitted_ms = (int64_t)clock_now_ms(CLOCK_MONOTONIC);
    pthread_mutex_lock(&ingest->lock);
    if (ingest->stopping) {
        status = CH_END;
    } else if (ingest->waiting >= ingest->limits.queue ||
               item->upload.body_size >
                   ingest->limits.queue_bytes - ingest->waiting_bytes) {
        status = CH_ERR_LIMIT;
    } else {
        *ingest->end = item;
        ingest->end = &item->next;
        ingest->waiting++;
        ingest->waiting_bytes += item->upload.body_size;
        pthread_cond_signal(&ingest->changed);
    }
    pthread_mutex_unlock(&ingest->lock);
    return status;
}

void ingest_tick(struct ingest *ingest, int64_t now_ms)
{
    struct ingest_item *overdue = NULL;
    size_t count = 0;
    int64_t until_ms = now_ms - ingest->limits.patience_ms;
    pthread_mutex_lock(&ingest->lock);
    if (ingest->worked_since_ms != 0 && ingest->worked_since_ms <= until_ms) {
        overdue = take_first(ingest, SIZE_MAX, until_ms, &count);
        for (struct ingest_item *item = ingest->stored; item != NULL;
             item = item->next) {
            if (item->is_late || item->submitted_ms > until_ms)
                continue;
            item->is_late = true;
            item->late(item);
        }
    }
    pthread_mutex_unlock(&ingest->lock);
    while (overdue != NULL) {
        struct ingest_item *next = overdue->next;
        overdue->status = CH_ERR_LIMIT;
        overdue->done(overdue);
        overdue = next;
    }
}

void ingest_waiting(struct ingest *ingest, size_t *out_count, size_t *out_bytes)
{
    pthread_mutex_lock(&ingest->lock);
    *out_count = ingest->waiting;
    *out_bytes = ingest->waiting_bytes;
    pthread_mutex_unlock(&ingest->lock);
}
