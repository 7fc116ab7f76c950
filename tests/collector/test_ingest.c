// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/ingest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "support/test.h"

// gate_store is a store whose store_add waits until the test lets it go on, and then
// gives the status the test has set.
struct gate_store {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;
    bool entered;
    enum ch_status status;
    size_t batches[16];
    size_t batch_count;
};

static enum ch_status gate_add(struct store *store, struct store_upload *uploads,
                               size_t count, char error[STORE_ERROR_SIZE])
{
    struct gate_store *gate = (struct gate_store *)store;
    (void)snprintf(error, STORE_ERROR_SIZE, "the disk is full");
    pthread_mutex_lock(&gate->lock);
    gate->entered = true;
    pthread_cond_broadcast(&gate->changed);
    while (!gate->open)
        pthread_cond_wait(&gate->changed, &gate->lock);
    if (gate->batch_count < 16)
        gate->batches[gate->batch_count++] = count;
    enum ch_status status = gate->status;
    pthread_mutex_unlock(&gate->lock);
    for (size_t i = 0; i < count; i++)
        uploads[i].outcome = STORE_REPLACED;
    return status;
}

static void gate_init(struct gate_store *gate, bool open)
{
    *gate = (struct gate_store){ .open = open };
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->changed, NULL);
}

static void gate_open(struct gate_store *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->open = true;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

static void gate_await_entry(struct gate_store *gate)
{
    pthread_mutex_lock(&gate->lock);
    while (!gate->entered)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

static atomic_int done_count;
static atomic_int late_count;
static atomic_int complaint_count;

static void on_done(struct ingest_item *item)
{
    (void)item;
    atomic_fetch_add(&done_count, 1);
}

static void on_late_item(struct ingest_item *item)
{
    assert_true(item->is_late);
    atomic_fetch_add(&late_count, 1);
}

static void on_complaint(const char *error)
{
    if (strcmp(error, "the disk is full") == 0)
        atomic_fetch_add(&complaint_count, 1);
}

static struct ingest_item make_item(size_t size)
{
    return (struct ingest_item){ .upload = { .body_size = size },
                                 .done = on_done,
                                 .late = on_late_item };
}

static const struct ingest_limits limits = {
    .add = gate_add, .batch = 4, .queue = 6, .queue_bytes = 100, .patience_ms = 3000
};

static int setup(void **state)
{
    (void)state;
    atomic_store(&done_count, 0);
    atomic_store(&late_count, 0);
    atomic_store(&complaint_count, 0);
    return 0;
}

static void ingest_stores_what_waited_together_in_one_batch(void **state)
{
    (void)state;
    struct gate_store gate;
    struct ingest *ingest = NULL;
    struct ingest_item items[6];
    gate_init(&gate, false);
    assert_int_equal(
        ingest_create((struct store *)&gate, &limits, on_complaint, &ingest), CH_OK);
    items[0] = make_item(1);
    assert_int_equal(ingest_submit(ingest, &items[0]), CH_OK);
    gate_await_entry(&gate);
    for (size_t i = 1; i < 6; i++) {
        items[i] = make_item(1);
        assert_int_equal(ingest_submit(ingest, &items[i]), CH_OK);
    }
    gate_open(&gate);
    ingest_destroy(ingest);
    assert_int_equal(atomic_load(&done_count), 6);
    assert_int_equal(gate.batch_count, 3);
    assert_int_equal(gate.batches[0], 1);
    assert_int_equal(gate.batches[1], 4);
    assert_int_equal(gate.batches[2], 1);
    assert_int_equal(items[5].status, CH_OK);
    assert_int_equal(items[5].upload.outcome, STORE_REPLACED);
}

static void ingest_refuses_when_too_much_waits(void **state)
{
    (void)state;
    struct gate_store gate;
    struct ingest *ingest = NULL;
    struct ingest_item items[8];
    gate_init(&gate, false);
    assert_int_equal(
        ingest_create((struct store *)&gate, &limits, on_complaint, &ingest), CH_OK);
    for (size_t i = 0; i < 8; i++)
        items[i] = make_item(i == 1 ? 60 : 1);
    assert_int_equal(ingest_submit(ingest, &items[0]), CH_OK);
    gate_await_entry(&gate); // the first has left the queue
    assert_int_equal(ingest_submit(ingest, &items[1]), CH_OK);
    struct ingest_item large = make_item(60);
    assert_int_equal(ingest_submit(ingest, &large), CH_ERR_LIMIT);
    for (size_t i = 2; i < 7; i++)
        assert_int_equal(ingest_submit(ingest, &items[i]), CH_OK);
    assert_int_equal(ingest_submit(ingest, &items[7]), CH_ERR_LIMIT);
    gate_open(&gate);
    ingest_destroy(ingest);
    assert_int_equal(atomic_load(&done_count), 7);
}

static void ingest_tells_every_upload_of_a_batch_that_failed(void **state)
{
    (void)state;
    struct gate_store gate;
    struct ingest *ingest = NULL;
    struct ingest_item item = make_item(1);
    gate_init(&gate, true);
    gate.status = CH_ERR_IO;
    assert_int_equal(
        ingest_create((struct store *)&gate, &limits, on_complaint, &ingest), CH_OK);
    assert_int_equal(ingest_submit(ingest, &item), CH_OK);
    ingest_destroy(ingest);
    assert_int_equal(item.status, CH_ERR_IO);
    assert_int_equal(atomic_load(&complaint_count), 1);
}

static void ingest_refuses_after_a_stop(void **state)
{
    (void)state;
    struct gate_store gate;
    struct ingest *ingest = NULL;
    struct ingest_item item = make_item(1);
    gate_init(&gate, true);
    assert_int_equal(
        ingest_create((struct store *)&gate, &limits, on_complaint, &ingest), CH_OK);
    ingest_stop(ingest);
    assert_int_equal(ingest_submit(ingest, &item), CH_END);
    ingest_destroy(ingest);
    assert_int_equal(atomic_load(&done_count), 0);
}

static void ingest_answers_uploads_while_the_store_hangs(void **state)
{
    (void)state;
    struct gate_store gate;
    struct ingest *ingest = NULL;
    struct ingest_item item = make_item(1);
    struct ingest_item waiting = make_item(1);
    waiting.late = NULL;
    gate_init(&gate, false);
    assert_int_equal(
        ingest_create((struct store *)&gate, &limits, on_complaint, &ingest), CH_OK);
    assert_int_equal(ingest_submit(ingest, &item), CH_OK);
    gate_await_entry(&gate);
    assert_int_equal(ingest_submit(ingest, &waiting), CH_OK);
    ingest_tick(ingest, item.submitted_ms + 2999);
    assert_int_equal(atomic_load(&done_count) + atomic_load(&late_count), 0);

    int64_t then_ms = waiting.submitted_ms + 60000;
    ingest_tick(ingest, then_ms);
    ingest_tick(ingest, then_ms + 1000);
    assert_int_equal(atomic_load(&late_count), 1);
    assert_int_equal(atomic_load(&done_count), 1);
    assert_int_equal(waiting.status, CH_ERR_LIMIT);

    gate_open(&gate);
    ingest_destroy(ingest);
    assert_int_equal(atomic_load(&done_count), 2);
    assert_int_equal(item.status, CH_OK);
    assert_int_equal(gate.batch_count, 1);
}

static atomic_int check_status;

static enum ch_status gate_check(struct store *store, char error[STORE_ERROR_SIZE])
{
    (void)store;
    (void)snprintf(error, STORE_ERROR_SIZE, "the disk is full");
    return (enum ch_status)atomic_load(&check_status);
}

static void await_ready(struct ingest *ingest, bool ready)
{
    const struct timespec pause = { .tv_nsec = 10000000 };
    while (ingest_ready(ingest) != ready)
        nanosleep(&pause, NULL);
}

static void ingest_notices_a_store_that_fails_while_nothing_comes(void **state)
{
    (void)state;
    struct gate_store gate;
    struct ingest *ingest = NULL;
    struct ingest_limits checked = limits;
    checked.check = gate_check;
    atomic_store(&check_status, CH_ERR_IO);
    gate_init(&gate, true);
    assert_int_equal(
        ingest_create((struct store *)&gate, &checked, on_complaint, &ingest), CH_OK);
    assert_true(ingest_ready(ingest));
    await_ready(ingest, false);
    atomic_store(&check_status, CH_OK);
    await_ready(ingest, true);
    ingest_destroy(ingest);
    assert_int_equal(atomic_load(&complaint_count), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(ingest_stores_what_waited_together_in_one_batch, setup),
        cmocka_unit_test_setup(ingest_refuses_when_too_much_waits, setup),
        cmocka_unit_test_setup(ingest_tells_every_upload_of_a_batch_that_failed, setup),
        cmocka_unit_test_setup(ingest_refuses_after_a_stop, setup),
        cmocka_unit_test_setup(ingest_answers_uploads_while_the_store_hangs, setup),
        cmocka_unit_test_setup(ingest_notices_a_store_that_fails_while_nothing_comes,
                               setup),
    };
    return cmocka_run_group_tests_name("collector/ingest", tests, NULL, NULL);
}
