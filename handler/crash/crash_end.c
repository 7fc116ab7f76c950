// SPDX-License-Identifier: Apache-2.0
//
// The program's own end, in crash context (see crash.c): it exits, or sends itself a
// deadly signal that is not ours. If it does so from the handler of a fault, that is
// the crash. If it does so while another thread's crash is being reported, it waits:
// the process is to end by that crash. A program that has never had a fault makes no
// system call here: a filter that it has set may kill for any.
#include "handler/crash/crash.h"

#include <linux/errno.h>

#include "handler/crash/crash_filter.h"
#include "handler/machine/machine.h"
#include "handler/machine/syscalls.h"
#include "shared/context_page.h"

#include "handler/machine/poison.h"

// is_harmless returns true if the signal's default action ignores it, or stops the
// process.
static bool is_harmless(int signal)
{
    const uint32_t harmless = 1u << SIGCHLD | 1u << SIGCONT | 1u << SIGSTOP |
                              1u << SIGTSTP | 1u << SIGTTIN | 1u << SIGTTOU |
                              1u << SIGURG | 1u << SIGWINCH;
    return signal < 32 && (harmless >> signal & 1) != 0;
}

// is_deadly returns true if the kernel would end the process by the signal.
static bool is_deadly(int signal)
{
    struct sys_action now = { .handler = (uintptr_t)SIG_IGN };
    if (is_harmless(signal))
        return false;
    // The kernel refuses signal 0, which sends nothing, here.
    (void)sys_sigaction(signal, NULL, &now);
    return now.handler == (uintptr_t)SIG_DFL;
}

void crash_note_liveness(uint32_t ended)
{
    enum { WAITS = 10, WAIT_NS = 100000000 };
    struct context_liveness *liveness = (void *)crash_state.ended;
    if (liveness == NULL)
        return;
    __atomic_store_n(&liveness->ended, ended, __ATOMIC_SEQ_CST);
    // A copier that begins now makes no copy.
    if (ended != LIVENESS_ENDED || liveness->is_near == 0 ||
        !crash_may_call(UINT32_MAX))
        return;
    liveness->ended = LIVENESS_AWAITS;
    sys_futex_wake_all(&liveness->ended);
    for (int i = 0; i < WAITS; i++)
        if (sys_futex_wait(&liveness->ended, LIVENESS_AWAITS, WAIT_NS) == -EAGAIN)
            return;
}

void crash_note_crash(int signal)
{
    crash_note_liveness(LIVENESS_CRASHED + LIVENESS_SIGNAL * (uint32_t)signal);
}

void crash_continue_liveness(uint32_t noted)
{
    if (crash_state.ended != NULL && *crash_state.ended % LIVENESS_SIGNAL == noted)
        crash_note_liveness(0);
}

// hold_alone holds a process whose only thread is this one and is to fault again: it
// has the signals blocked until then, and of those that are pending the kernel takes a
// fault's first. False: another thread may take them, or this one unblocks them before.
static bool hold_alone(void)
{
    if (!crash_state.alone || crash_state.after != NULL ||
        !crash_happens_again(crash_state.signal, crash_dying_siginfo()))
        return false;
    uint64_t before = sys_sigmask(SYS_ALL_BUT_SIGSYS);
    sys_sigmask(before | ~(crash_plan->signals >> 1));
    return true;
}

void crash_hold_program(void)
{
    const struct sys_action ignore = { .handler = (uintptr_t)SIG_IGN };
    crash_note_crash(crash_state.signal);
    // Without these calls a crash is reported all the same.
    if (crash_state.filtered || hold_alone())
        return;
    for (int signal = 1; signal <= SYS_SIGNALS; signal++) {
        struct sys_action before = { .handler = (uintptr_t)SIG_DFL };
        if (is_harmless(signal) || signal_in(crash_plan->signals, signal))
            continue;
        // Most have the default action: asking first would be a call more.
        if (sys_sigaction(signal, &ignore, &before) == 0 &&
            before.handler != (uintptr_t)SIG_DFL)
            sys_sigaction(signal, &before, NULL);
    }
}

void crash_record_cut_off(void)
{
    if (!crash_plan->page->dies || !crash_state.record_due)
        return;
    // What is left of the process waits for the tracer of its threads.
    if (crash_plan->page->agent_pid > 0)
        sys_kill(crash_plan->page->agent_pid, SIGKILL);
    if (crash_write_record(RECORD_CUT_OFF))
        crash_note_liveness(LIVENESS_CUT_OFF);
}

// ends_process returns true if an exit (then is NULL), or a signal that this process
// sends, ends it.
static bool ends_process(const siginfo_t *then)
{
    return then == NULL || ((then->si_pid == 0 || then->si_pid == sys_getpid()) &&
                            is_deadly(then->si_signo));
}

static void report_end(int status, const siginfo_t *then, uintptr_t depth)
{
    struct crash_fault first;
    if (crash_claim_is_near() && ends_process(then))
        crash_claim_await();
    if (!crash_first_fault(depth, &first) || *first.told)
        return;
    // A child that the handler forked is another process.
    if (crash_process != NULL && *crash_process != sys_getpid())
        return;
    if (ends_process(then))
        crash_tell_end(&first, status, then);
}

void crash_report_exit(int status, uintptr_t depth)
{
    report_end(status, NULL, depth);
}

void crash_report_signal(int signal, int code, int32_t process)
{
    const siginfo_t then = { .si_signo = signal, .si_code = code, .si_pid = process };
    report_end(-1, &then, (uintptr_t)__builtin_frame_address(0));
}

bool crash_raise_take(void)
{
    uint64_t thread = __atomic_load_n(&crash_state.raises_abort, __ATOMIC_RELAXED);
    return thread != 0 &&
           thread == machine_thread_word(crash_state.reads_thread_word) &&
           __atomic_compare_exchange_n(&crash_state.raises_abort, &thread, 0, false,
                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
