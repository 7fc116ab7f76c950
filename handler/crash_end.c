// SPDX-License-Identifier: Apache-2.0
//
// The program's own end, in crash context (see crash.c): it exits, or sends itself a
// deadly signal that is not ours. If it does so from the handler of a fault, that is
// the crash. A program that has never had a fault makes no system call here: a filter
// that it has set may kill for any.
#include "handler/crash.h"

#include "handler/machine.h"
#include "handler/syscalls.h"

#include "handler/poison.h"

// is_deadly is whether the kernel would end the process by the signal.
static bool is_deadly(int signal)
{
    // By default these are ignored or stop the process.
    const uint32_t harmless = 1u << SIGCHLD | 1u << SIGCONT | 1u << SIGSTOP |
                              1u << SIGTSTP | 1u << SIGTTIN | 1u << SIGTTOU |
                              1u << SIGURG | 1u << SIGWINCH;
    struct sys_action now = { .handler = (uintptr_t)SIG_IGN };
    if (signal < 32 && (harmless >> signal & 1) != 0)
        return false;
    // The kernel refuses signal 0, which sends nothing, here.
    (void)sys_sigaction(signal, NULL, &now);
    return now.handler == (uintptr_t)SIG_DFL;
}

static void report_end(int status, const siginfo_t *then, uintptr_t depth)
{
    struct crash_fault first;
    if (!crash_first_fault(depth, &first) || *first.told)
        return;
    // A child that the handler forked is another process.
    if (crash_process != NULL && *crash_process != sys_getpid())
        return;
    if (then == NULL || ((then->si_pid == 0 || then->si_pid == sys_getpid()) &&
                         is_deadly(then->si_signo)))
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
