// SPDX-License-Identifier: Apache-2.0
//
// The time limit of a crash, enforced by the kernel, in crash context (see crash.c). A
// seccomp filter can end the crashed thread at any of our system calls, and a program
// of several threads would stay. Setting the timer is therefore the first call of a
// crash. Timers end with the process, and neither fork nor exec inherits them.
#include "handler/crash/crash.h"

#include "handler/machine/machine.h"
#include "handler/machine/syscalls.h"
#include "handler/machine/timer_syscalls.h"

#include "handler/machine/poison.h"

static int bound_start(int signal)
{
    const struct sys_timer_event event = { .signal = signal };
    int timer = -1;
    if (sys_timer_create(&event, &timer) != 0)
        return -1;
    crash_bound_renew(timer);
    return timer;
}

int crash_bound_set(void)
{
    return bound_start(SIGKILL);
}

void crash_bound_renew(int timer)
{
    if (timer >= 0)
        sys_timer_set(timer, crash_plan->timeout_ns + CRASH_BOUND_NS);
}

void crash_bound_lift(int timer)
{
    if (timer < 0)
        return;
    sys_timer_set(timer, 0); // disarmed first: enough even where a filter refuses the
                             // next call
    sys_timer_delete(timer);
}

void crash_bound_leave_to(int timer, int signal)
{
    // SIGKILL would cut a core dump short. The kernel drops all other signals while it
    // writes one.
    if (timer >= 0 && bound_start(signal) >= 0)
        sys_timer_set(timer, 0);
}
