// SPDX-License-Identifier: Apache-2.0
#include "collector/server/http_call.h"

#include <semaphore.h>
#include <stdatomic.h>

#include "support/test.h"

enum { COUNT = 20 };

// job is an item that waits, if it has something to wait for, before it is done.
struct job {
    struct work_item item;
    sem_t *wait;
    sem_t *done;
    unsigned turn; // from 1, once it is done
};

static atomic_uint turns;

static void run_job(struct work_item *item)
{
    struct job *job = (struct job *)item;
    if (job->wait != NULL)
        sem_wait(job->wait);
    job->turn = ++turns;
    if (job->done != NULL)
        sem_post(job->done);
}

static struct work *pool(unsigned threads)
{
    const struct work_options options = { .threads = threads, .run = run_job };
    struct work *work = NULL;
    turns = 0;
    assert_int_equal(work_create(&options, &work), CH_OK);
    return work;
}

static void work_is_done_in_the_order_of_arrival(void **state)
{
    (void)state;
    struct job jobs[COUNT] = { 0 };
    struct work *work = pool(1);
    enum ch_status status = CH_OK;
    for (size_t i = 0; i < COUNT && status == CH_OK; i++)
        status = work_add(work, &jobs[i].item);
    work_destroy(work);
    assert_int_equal(status, CH_OK);
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(jobs[i].turn, i + 1);
}

static void work_that_takes_long_delays_its_own_thread_alone(void **state)
{
    (void)state;
    sem_t gate;
    sem_t done;
    sem_init(&gate, 0, 0);
    sem_init(&done, 0, 0);
    struct job slow = { .wait = &gate };
    struct job quick = { .done = &done };
    struct work *work = pool(2);
    enum ch_status status = work_add(work, &slow.item);
    if (status == CH_OK)
        status = work_add(work, &quick.item);
    if (status == CH_OK)
        sem_wait(&done); // while the other one waits
    unsigned turn = quick.turn;
    sem_post(&gate);
    work_destroy(work);
    sem_destroy(&gate);
    sem_destroy(&done);
    assert_int_equal(status, CH_OK);
    assert_int_equal(turn, 1);
    assert_int_equal(slow.turn, 2);
}

static void work_that_has_ended_takes_nothing_and_leaves_nothing(void **state)
{
    (void)state;
    struct job job = { 0 };
    struct job late = { 0 };
    struct work *work = pool(1);
    enum ch_status first = work_add(work, &job.item);
    work_end(work);
    enum ch_status second = work_add(work, &late.item);
    work_destroy(work);
    assert_int_equal(first, CH_OK);
    assert_int_equal(second, CH_END);
    assert_int_equal(job.turn, 1);
    assert_int_equal(late.turn, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_done_in_the_order_of_arrival),
        cmocka_unit_test(work_that_takes_long_delays_its_own_thread_alone),
        cmocka_unit_test(work_that_has_ended_takes_nothing_and_leaves_nothing),
    };
    return cmocka_run_group_tests_name("collector/work", tests, NULL, NULL);
}
