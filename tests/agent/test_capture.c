// SPDX-License-Identifier: Apache-2.0
#include "agent/live/capture.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "support/child.h"
#include "support/test.h"

enum { BUDGET_MS = 10000, MANY = 200, FEW = 3 };

static sem_t named;

static void *wait_under_a_name(void *number)
{
    char name[THREAD_NAME_SIZE];
    snprintf(name, sizeof(name), "thread-%d", (int)(intptr_t)number);
    prctl(PR_SET_NAME, name);
    sem_post(&named);
    for (;;)
        pause();
    return NULL;
}

static int start_named_threads(int ready, int go, int count)
{
    char byte;
    sem_init(&named, 0, 0);
    prctl(PR_SET_NAME, "thread-0");
    for (int i = 1; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, wait_under_a_name, (void *)(intptr_t)i) != 0)
            return 1;
        // One after the other, so that they are listed by number.
        sem_wait(&named);
    }
    child_say_ready(ready);
    return read(go, &byte, 1) == 1 ? 0 : 1;
}

static int start_many(int ready, int go)
{
    return start_named_threads(ready, go, MANY);
}

static int start_few(int ready, int go)
{
    return start_named_threads(ready, go, FEW);
}

// wrong_names asks for the name of each thread from index on, and counts those that are
// not the thread's.
static int wrong_names(struct thread_names *names, const struct stop *stop,
                       size_t index)
{
    int wrong = 0;
    for (; index < stop->count; index++) {
        char expected[32];
        char name[THREAD_NAME_SIZE];
        snprintf(expected, sizeof(expected), "thread-%zu", index);
        thread_names_get(names, stop, stop->threads[index].tid, name);
        wrong += strcmp(name, expected) != 0;
    }
    return wrong;
}

static void check_names(child_main_fn *start, size_t count)
{
    struct child child = child_start(start);
    struct thread_names names = { 0 };
    struct stop stop;
    enum ch_status status = stop_threads(&stop, child.pid, 0, BUDGET_MS);
    size_t found = stop.count;
    thread_names_begin(&names, &stop);
    int wrong = wrong_names(&names, &stop, stop.count - 1); // as a crashed thread's
    wrong += wrong_names(&names, &stop, 0);
    thread_names_end(&names);
    wrong += wrong_names(&names, &stop, 0);
    thread_names_deinit(&names);
    stop_release(&stop);
    stop_deinit(&stop);
    child_end(&child, true);
    assert_int_equal(status, CH_OK);
    assert_int_equal(found, count);
    assert_int_equal(wrong, 0);
}

static void names_of_many_threads_are_the_threads_own(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) // who reads a name is a race
        check_names(start_many, MANY);
}

static void names_of_few_threads_are_the_threads_own(void **state)
{
    (void)state;
    check_names(start_few, FEW);
}

static void a_thread_that_is_gone_has_no_name(void **state)
{
    (void)state;
    struct child child = child_start(start_many);
    struct thread_names names = { 0 };
    struct stop stop;
    char name[THREAD_NAME_SIZE] = "as before";
    enum ch_status status = stop_threads(&stop, child.pid, 0, BUDGET_MS);
    thread_names_begin(&names, &stop);
    thread_names_get(&names, &stop, getpid(), name);
    thread_names_deinit(&names);
    stop_release(&stop);
    stop_deinit(&stop);
    child_end(&child, true);
    assert_int_equal(status, CH_OK);
    assert_string_equal(name, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_many_threads_are_the_threads_own),
        cmocka_unit_test(names_of_few_threads_are_the_threads_own),
        cmocka_unit_test(a_thread_that_is_gone_has_no_name),
    };
    return cmocka_run_group_tests_name("agent/capture", tests, NULL, NULL);
}
