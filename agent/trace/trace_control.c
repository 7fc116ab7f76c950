// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>

#include "agent/trace/trace_state.h"

void trace_note_thread(struct trace *trace, pid_t tid, bool traced)
{
    uint64_t bit = UINT64_C(1) << (tid % 64);
    if (tid <= 0 || tid >= TRACE_TIDS)
        return;
    if (traced)
        trace->tids[tid / 64] |= bit;
    else
        trace->tids[tid / 64] &= ~bit;
}

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
