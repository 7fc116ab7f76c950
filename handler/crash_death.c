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

// block_others has nothing but signal come between the return and the fault: what was
// sent meanwhile would end the program in its place, or run a handler of it first.
static void block_others(ucontext_t *context, int signal)
{
    *(uint64_t *)&context->uc_sigmask = ~(UINT64_C(1) << (signal - 1));
}

void crash_die_on_return(int signal, const void *siginfo, void *context)
{
    restore_default(signal);
    if (happens_again(signal, siginfo)) {
        block_others(context, signal);
        return;
    }
    // A default action does nothing to the first process of a PID namespace.
    if (sys_getpid() == 1)
        sys_exit_group(128 + signal);
    // Blocked until the return, so that a core dump shows the program and not us.
    sys_sigmask(~UINT64_C(0));
    if (sys_queue_signal(signal, siginfo) != 0)
        sys_exit_group(128 + signal);
}

void crash_die_now(void)
{
    int signal = crash_state.signal;

    crash_put_dumpable_back();
    sys_sigmask(~UINT64_C(0));
    restore_default(signal);
    // The page with the siginfo may be what is lost.
    if (sys_queue_signal(signal, crash_plan->page->siginfo) != 0)
        sys_kill_thread(signal);
    sys_sigmask(~(UINT64_C(1) << (signal - 1)));
    sys_exit_group(128 + signal);
}
