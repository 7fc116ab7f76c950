// SPDX-License-Identifier: Apache-2.0
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // sets of processors
#endif
#include "base/system/own_thread.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

static void *read_mask(void *context)
{
    (void)pthread_sigmask(SIG_SETMASK, NULL, context);
    return NULL;
}

static void
a_thread_of_ours_blocks_signals_and_its_creator_goes_on_as_before(void **state)
{
    (void)state;
    sigset_t inside;
    sigset_t before;
    sigset_t after;
    pthread_t thread;
    sigemptyset(&inside);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
    assert_true(own_thread_start(&thread, read_mask, &inside));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
    for (int signal = 1; signal < SIGSYS; signal++) {
        if (signal != SIGKILL && signal != SIGSTOP)
            assert_int_equal(sigismember(&inside, signal), 1);
        assert_int_equal(sigismember(&after, signal), sigismember(&before, signal));
    }
}

// processor_of_child is where a child runs that waits for a byte and was moved.
static int processor_of_child(cpu_set_t *out_allowed)
{
    int to_child[2];
    int to_us[2];
    int status;
    int processor = -1;
    assert_int_equal(pipe(to_child), 0);
    assert_int_equal(pipe(to_us), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        if (read(to_child[0], &byte, 1) == 1)
            processor = sched_getcpu();
        _exit(write(to_us[1], &processor, sizeof(processor)) != sizeof(processor));
    }
    own_child_move(child);
    assert_int_equal(sched_getaffinity(child, sizeof(*out_allowed), out_allowed), 0);
    assert_int_equal(write(to_child[1], "", 1), 1);
    assert_int_equal(read(to_us[0], &processor, sizeof(processor)), sizeof(processor));
    assert_int_equal(waitpid(child, &status, 0), child);
    for (int i = 0; i < 2; i++) {
        close(to_child[i]);
        close(to_us[i]);
    }
    return processor;
}

static void a_child_that_is_moved_may_run_where_it_could_before(void **state)
{
    (void)state;
    cpu_set_t ours;
    cpu_set_t its;
    assert_int_equal(sched_getaffinity(0, sizeof(ours), &ours), 0);
    assert_true(CPU_ISSET((size_t)processor_of_child(&its), &ours));
    assert_true(CPU_EQUAL(&its, &ours));
}

static void where_there_is_one_processor_a_child_stays_on_it(void **state)
{
    (void)state;
    cpu_set_t before;
    cpu_set_t one;
    cpu_set_t its;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    int here = sched_getcpu();
    assert_true(here >= 0);
    CPU_ZERO(&one);
    CPU_SET((size_t)here, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(processor_of_child(&its), here);
    assert_true(CPU_EQUAL(&its, &one));
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_thread_of_ours_blocks_signals_and_its_creator_goes_on_as_before),
        cmocka_unit_test(a_child_that_is_moved_may_run_where_it_could_before),
        cmocka_unit_test(where_there_is_one_processor_a_child_stays_on_it),
    };
    return cmocka_run_group_tests_name("base/own_thread", tests, NULL, NULL);
}
