// SPDX-License-Identifier: Apache-2.0
//
// The kernel's timers, for bounding a crash and what the program does in its callbacks.
// The calls are made as those of syscalls.h are.
#pragma once
#include <stdint.h>
#include <time.h>

#include "handler/machine.h"

enum { SYS_TIMER_THREAD = 4 }; // SIGEV_THREAD_ID: the signal goes to one thread

// The kernel's struct sigevent.
struct sys_timer_event {
    uint64_t value;
    int32_t signal;
    int32_t notify;
    int32_t tid;
    int32_t unused[11];
};

static inline long sys_timer_create(const struct sys_timer_event *event, int *out)
{
    return machine_call3(SYS_timer_create, CLOCK_MONOTONIC, (long)event, (long)out);
}

// sys_timer_set has the timer go off once, in ns nanoseconds; 0: not at all.
static inline void sys_timer_set(int timer, uint64_t ns)
{
    const struct itimerspec when = { .it_value = { (time_t)(ns / 1000000000u),
                                                   (long)(ns % 1000000000u) } };
    machine_call4(SYS_timer_settime, timer, 0, (long)&when, 0);
}

static inline void sys_timer_delete(int timer)
{
    machine_call1(SYS_timer_delete, timer);
}
