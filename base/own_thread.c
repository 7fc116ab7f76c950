// SPDX-License-Identifier: Apache-2.0
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // sets of processors
#endif
#include "base/own_thread.h"

#include <sched.h>
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

void own_thread_leave(int processor)
{
    cpu_set_t others;
    if (processor < 0 || processor >= CPU_SETSIZE ||
        sched_getaffinity(0, sizeof(others), &others) != 0)
        return;
    CPU_CLR(processor, &others);
    (void)sched_setaffinity(0, sizeof(others), &others); // an empty set is refused
}
