// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>

#include "agent/trace/trace_state.h"

void trace_continue(pid_t tid, int signal)
{
    (void)ptrace(PTRACE_CONT, tid, NULL, (void *)(intptr_t)signal);
}

bool trace_is_job_stop(int signal)
{
    return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN ||
           signal == SIGTTOU;
}

void trace_hear_of_stops(bool hear)
{
    const struct sigaction action = { .sa_handler = SIG_DFL,
                                      .sa_flags = hear ? 0 : SA_NOCLDSTOP };
    (void)sigaction(SIGCHLD, &action, NULL);
}
