// SPDX-License-Identifier: Apache-2.0
//
// The kernel's timers, for bounding a crash and the program's callbacks. The calls are
// made as those in syscalls.h are.
#pragma once
#include <stdint.h>
#include <time.h>

#include "handler/machine/machine.h"

enum { SYS_TIMER_THREAD = 4 }; // SIGEV_THREAD_ID: the signal goes to one thread

// A sys_timer_event is the kernel's struct sigevent.
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

// sys_timer_set makes the timer expire once, in ns nanoseconds; 0 disarms it.
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
