// SPDX-License-Identifier: Apache-2.0
#include "base/own_thread.h"

#include <signal.h>

bool own_thread_start(pthread_t *out, void *(*run)(void *), void *argument)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    bool started = pthread_create(out, NULL, run, argument) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}
