// SPDX-License-Identifier: Apache-2.0
#include "agent/raw/default_signals.h"

#include <signal.h>
#include <stddef.h>

void default_signals_unblock(void)
{
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

void default_signals_restore(void)
{
    for (int number = 1; number <= SIGRTMAX; number++)
        (void)signal(number, SIG_DFL);
    default_signals_unblock();
}
