// SPDX-License-Identifier: Apache-2.0
//
// The program's own callbacks before and after a report, called in crash context (see
// crash.c). They are not ours and may do anything: crash, abort, never return. So each
// runs on a separate stack under a timer. The signal that it ends in comes back to
// crash_handle, which continues without it; that overwrites the thread's signal stack,
// whose contents are no longer needed.
#include "handler/crash/crash.h"

#include "handler/machine/machine.h"
#include "handler/machine/syscalls.h"
#include "handler/machine/timer_syscalls.h"

#include "handler/machine/poison.h"

// A call is a callback to be run on the callbacks' stack.
struct call {
    struct crashhook_crash crash;
    enum crashhook_answer answer;
    bool before;
};

static int make_call(void *argument)
{
    struct call *call = argument;
    void *user = crash_state.callback_argument;
    if (call->before)
        call->answer = crash_state.before(&call->crash, user);
    else
        crash_state.after(&call->crash, user);
    return 0;
}

// run_callback makes the call under the callbacks' time limit.
static void run_callback(struct call *call, enum crash_stage stage)
{
    const struct sys_timer_event event = { .signal = crash_state.signal,
                                           .notify = SYS_TIMER_THREAD,
                                           .tid = sys_gettid() };
    int timer = -1;
    bool timed = sys_timer_create(&event, &timer) == 0;
    if (timed)
        sys_timer_set(timer, crash_plan->timeout_ns / 4);
    crash_state.stage = stage;
    machine_call_on(crash_state.callback_stack_end, make_call, call);
    crash_state.stage = CRASH_STAGE_NONE;
    if (timed)
        sys_timer_delete(timer);
}

enum crashhook_answer crash_call_before(siginfo_t *info, void *context)
{
    struct call call = { .before = true };
    if (crash_state.before == NULL)
        return CRASHHOOK_REPORT;
    call.crash = (struct crashhook_crash){ .size = sizeof(call.crash),
                                           .signal = crash_state.signal,
                                           .info = info,
                                           .context = context };
    run_callback(&call, CRASH_STAGE_BEFORE);
    return call.answer;
}

void crash_call_after(siginfo_t *info, void *context, bool reported)
{
    struct call call = { .before = false };
    if (crash_state.after == NULL)
        return;
    call.crash = (struct crashhook_crash){ .size = sizeof(call.crash),
                                           .signal = crash_state.signal,
                                           .reported = reported,
                                           .info = info,
                                           .context = context };
    run_callback(&call, CRASH_STAGE_AFTER);
}

bool crash_callback_ends(const siginfo_t *info)
{
    if (crash_state.stage == CRASH_STAGE_NONE)
        return false;
    // Its own fault, its timer, or a signal that it sent itself, as abort() does.
    return info->si_code > 0 || info->si_code == SI_TIMER ||
           info->si_pid == sys_getpid();
}
