// SPDX-License-Identifier: Apache-2.0
#include "agent/raw/finish.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "support/test.h"

static bool is_blocked(int number)
{
    sigset_t now;
    assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &now), 0);
    return sigismember(&now, number) == 1;
}

static bool is_ignored(int number)
{
    struct sigaction now;
    assert_int_equal(sigaction(number, NULL, &now), 0);
    return now.sa_handler == SIG_IGN;
}

static int inherit_signals(void **state)
{
    sigset_t all;
    (void)state;
    sigfillset(&all);
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGRTMAX, SIG_IGN);
    return sigprocmask(SIG_SETMASK, &all, NULL);
}

static void what_was_blocked_is_unblocked_and_stays_ignored(void **state)
{
    (void)state;
    default_signals_unblock();
    assert_false(is_blocked(SIGTERM));
    assert_false(is_blocked(SIGRTMAX));
    assert_true(is_ignored(SIGPIPE));
}

static void what_was_ignored_has_its_default_action_again(void **state)
{
    (void)state;
    default_signals_restore();
    assert_false(is_ignored(SIGHUP));
    assert_false(is_ignored(SIGPIPE));
    assert_false(is_ignored(SIGRTMAX));
    assert_false(is_blocked(SIGTERM));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_was_blocked_is_unblocked_and_stays_ignored,
                               inherit_signals),
        cmocka_unit_test_setup(what_was_ignored_has_its_default_action_again,
                               inherit_signals),
    };
    return cmocka_run_group_tests_name("agent/finish", tests, NULL, NULL);
}
