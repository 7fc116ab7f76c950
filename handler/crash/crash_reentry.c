// SPDX-License-Identifier: Apache-2.0
//
// A signal that arrives while the thread is already in the handler, in crash context
// (see crash.c): a filter's answer to a call of ours, the end of a callback, a signal
// that was sent, or the handler's own crash. The last ends the program. Each time that
// fails, less is attempted, down to an instruction that must fault: at the latest,
// another frame does not fit on this stack and the kernel ends the process.
#include "handler/crash/crash.h"

#include <linux/errno.h>

#include "handler/machine/machine.h"
#include "handler/machine/syscalls.h"

#include "handler/machine/poison.h"

// is_child returns true if this is one of the two processes that a crash starts. They
// share our memory, so only the stack, which is each one's own, identifies them.
static bool is_child(void)
{
    uintptr_t from = (uintptr_t)crash_plan->first_stack_end - CRASH_CHILD_STACK;
    return (uintptr_t)__builtin_frame_address(0) - from < 2 * CRASH_CHILD_STACK;
}

bool crash_refused(int signal, const siginfo_t *info, void *context)
{
    enum { BY_SECCOMP = 1 }; // the kernel's SYS_SECCOMP
    bool refused = signal == SIGSYS && info->si_code == BY_SECCOMP &&
                   (info->si_call_addr == machine_call_end ||
                    info->si_call_addr == machine_clone_end);
    if (refused)
        machine_set_result(context, -ENOSYS);
    else if (is_child())
        sys_exit_group(1); // whatever it is, a child must not start others
    return refused;
}

void crash_give_up(void)
{
    enum { ALL, NO_RECORD, NO_SIGNAL };
    const uint32_t before = crash_state.re_entries++;
    if (before == ALL && crash_state.record_due && !crash_leave_record(RECORD_REFUSED))
        crash_say_unreported(RECORD_REFUSED, NULL);
    if (before <= NO_RECORD)
        crash_die_now();
    if (before == NO_SIGNAL)
        sys_exit_group(128 + crash_state.signal);
    for (;;)
        machine_fault(SIGSEGV);
}

void crash_return_refused(void)
{
    while (!crash_state.dying)
        machine_fault(SIGSEGV); // a crash itself, and one that does not return
    crash_give_up();
}

void crash_re_enter(const siginfo_t *info)
{
    enum crash_stage stage = crash_state.stage;
    if (crash_callback_ends(info)) {
        crash_state.stage = CRASH_STAGE_NONE;
        if (stage == CRASH_STAGE_BEFORE)
            (void)crash_report();
        crash_die_now();
    }
    // A sent signal is ignored while we work; a fault is our own crash.
    if (info->si_code > 0 || crash_state.dying)
        crash_give_up();
}
