// SPDX-License-Identifier: Apache-2.0
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // sets of processors
#endif
#include "base/system/own_thread.h"

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

// others_than gives the processors that may be used, and those but for one. False: it
// is not known which they are.
static bool others_than(int processor, cpu_set_t *out_all, cpu_set_t *out_others)
{
    if (processor < 0 || processor >= CPU_SETSIZE ||
        sched_getaffinity(0, sizeof(*out_all), out_all) != 0)
        return false;
    *out_others = *out_all;
    CPU_CLR(processor, out_others);
    return true;
}

void own_thread_leave(int processor)
{
    cpu_set_t all;
    cpu_set_t others;
    if (others_than(processor, &all, &others))
        (void)sched_setaffinity(0, sizeof(others), &others); // an empty set is refused
}

void own_child_move(pid_t child)
{
    cpu_set_t all;
    cpu_set_t others;
    if (others_than(sched_getcpu(), &all, &others) &&
        sched_setaffinity(child, sizeof(others), &others) == 0)
        (void)sched_setaffinity(child, sizeof(all), &all);
}
