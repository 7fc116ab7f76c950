// SPDX-License-Identifier: Apache-2.0
#include "base/own_thread.h"

#include <signal.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_thread_of_ours_blocks_signals_and_its_creator_goes_on_as_before),
    };
    return cmocka_run_group_tests_name("base/own_thread", tests, NULL, NULL);
}
