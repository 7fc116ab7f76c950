// SPDX-License-Identifier: Apache-2.0
//
// Dying as the program would have died without us, in crash context (see crash.c): by
// the same signal with the same siginfo, at the same instruction, with the same core
// dump.
#include "handler/crash.h"

#include <sys/prctl.h>

#include "handler/machine.h"
#include "handler/syscalls.h"

#include "handler/poison.h"

void crash_put_dumpable_back(void)
{
    if (crash_state.dumpable == 0)
        sys_prctl(PR_SET_DUMPABLE, 0);
}

// A fault happens again when its instruction is run again; nothing else does.
static bool happens_again(int signal, const siginfo_t *info)
{
    bool fault =
        signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE;
    return fault && info->si_code > 0 &&
           !(signal == SIGBUS && info->si_code == BUS_MCEERR_AO);
}

static void restore_default(int signal)
{
    const struct sys_action standard = { .handler = (uintptr_t)SIG_DFL };
    sys_sigaction(signal, &standard, NULL);
}

// block_all has no signal come between the return and the fault: what was sent
// meanwhile would end the program in its place, or run a handler of it first. The
// fault's own signal is blocked too: the kernel then gives it the default action, also
// where a filter has kept us from doing so.
static void block_all(ucontext_t *context)
{
    *(uint64_t *)&context->uc_sigmask = ~UINT64_C(0);
}

// block_signal keeps signal from us, with all others that are no answer to our calls.
static void block_signal(int signal)
{
    sys_sigmask(SYS_ALL_BUT_SIGSYS | UINT64_C(1) << (signal - 1));
}

// send_again sends the signal to ourselves, by the first way that is not refused.
static bool send_again(int signal, const void *siginfo)
{
    // Where even that is refused, kill() would take the answer for a group of
    // processes.
    int32_t pid = sys_getpid();
    return pid > 0 && (sys_queue_signal(signal, siginfo) == 0 ||
                       sys_kill_thread(signal) == 0 || sys_kill(pid, signal) == 0);
}

void crash_die_on_return(int signal, const void *siginfo, void *context)
{
    crash_state.dying = 1;
    restore_default(signal);
    if (happens_again(signal, siginfo)) {
        block_all(context);
        crash_bound_leave_to(crash_state.bound, signal);
        return;
    }
    // A default action does nothing to the first process of a PID namespace.
    if (sys_getpid() == 1)
        sys_exit_group(128 + signal);
    // Blocked until the return, so that a core dump shows the program and not us.
    block_signal(signal);
    if (!send_again(signal, siginfo))
        sys_exit_group(128 + signal);
    crash_bound_leave_to(crash_state.bound, signal);
}

void crash_die_now(void)
{
    int signal = crash_state.signal;

    crash_state.dying = 1;
    crash_put_dumpable_back();
    block_signal(signal);
    restore_default(signal);
    // The page with the siginfo may be what is lost.
    (void)send_again(signal, crash_dying_siginfo());
    crash_bound_leave_to(crash_state.bound, signal);
    sys_sigmask(~(UINT64_C(1) << (signal - 1)));
    // None of that was allowed. A fault whose signal is blocked ends a process as well.
    block_signal(signal);
    machine_fault(signal);
    sys_exit_group(128 + signal);
}
