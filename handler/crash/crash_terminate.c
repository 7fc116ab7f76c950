// SPDX-License-Identifier: Apache-2.0
//
// Dying as the program would have died without us, in crash context (see crash.c): by
// the same signal with the same siginfo, at the same instruction, with the same core
// dump.
#include "handler/crash/crash.h"

#include <sys/prctl.h>

#include "handler/crash/crash_valgrind.h"
#include "handler/machine/machine.h"
#include "handler/machine/syscalls.h"

#include "handler/machine/poison.h"

void crash_put_dumpable_back(void)
{
    if (crash_state.dumpable == 0)
        sys_prctl(PR_SET_DUMPABLE, 0);
}

// crash_happens_again is true of faults only. Under Valgrind registers may be older
// than the instruction at which it raises a signal, and the same access may then be a
// good one.
bool crash_happens_again(int signal, const siginfo_t *info)
{
    bool fault =
        signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE;
    return fault && info->si_code > 0 &&
           !(signal == SIGBUS && info->si_code == BUS_MCEERR_AO) &&
           !crash_is_in_valgrind();
}

static void restore_default(int signal)
{
    const struct sys_action standard = { .handler = (uintptr_t)SIG_DFL };
    sys_sigaction(signal, &standard, NULL);
}

// block_all blocks every signal between the return and the fault: one sent meanwhile
// would end the program instead, or run a handler first. The fault's own signal is
// blocked too: the kernel then forces the default action, even where a filter has
// prevented us from setting it.
static void block_all(ucontext_t *context)
{
    *(uint64_t *)&context->uc_sigmask = ~UINT64_C(0);
}

// block_signal blocks signal and all others but SIGSYS, which answers our calls.
static void block_signal(int signal)
{
    sys_sigmask(SYS_ALL_BUT_SIGSYS | UINT64_C(1) << (signal - 1));
}

// send_natively is a machine_child_fn. It returns 1 if the signal is sent. The kernel
// keeps it until Valgrind looks for signals, as the handler returns.
static int send_natively(void *unused)
{
    (void)unused;
    block_signal(crash_state.signal);
    return sys_queue_signal(crash_state.signal, crash_dying_siginfo()) == 0;
}

// send_again sends the signal to this thread, by the first way that is not refused.
// Under Valgrind a fault's signal does not stay pending while the program blocks it.
static bool send_again(int signal, const void *siginfo)
{
    if (crash_is_in_valgrind() && crash_run_natively(send_natively))
        return true;
    // If getpid is refused, kill() would take the negative result for a process group.
    int32_t pid = sys_getpid();
    return pid > 0 && (sys_queue_signal(signal, siginfo) == 0 ||
                       sys_kill_thread(signal) == 0 || sys_kill(pid, signal) == 0);
}

void crash_die_on_return(int signal, const void *siginfo, void *context)
{
    crash_state.dying = 1;
    restore_default(signal);
    if (crash_happens_again(signal, siginfo)) {
        block_all(context);
        crash_bound_leave_to(crash_state.bound, signal);
        return;
    }
    // Default actions have no effect on the first process of a PID namespace.
    if (sys_getpid() == 1)
        sys_exit_group(128 + signal);
    // Blocked until the return, so that a core dump shows the program and not us.
    block_signal(signal);
    if (!send_again(signal, siginfo))
        sys_exit_group(128 + signal);
    crash_hide_memory(crash_plan->page, sizeof(*crash_plan->page));
    crash_bound_leave_to(crash_state.bound, signal);
}

void crash_die_without_calls(const siginfo_t *info, void *context)
{
    crash_note_crash(info->si_signo);
    if (info->si_code <= 0)
        crash_fault_without_room(context);
    block_all(context);
}

void crash_die_now(void)
{
    int signal = crash_state.signal;

    crash_state.dying = 1;
    crash_put_dumpable_back();
    block_signal(signal);
    restore_default(signal);
    // The page with the siginfo may itself be lost.
    (void)send_again(signal, crash_dying_siginfo());
    crash_bound_leave_to(crash_state.bound, signal);
    sys_sigmask(~(UINT64_C(1) << (signal - 1)));
    // If all that was refused: a fault whose signal is blocked ends the process as
    // well.
    block_signal(signal);
    machine_fault(signal);
    sys_exit_group(128 + signal);
}
