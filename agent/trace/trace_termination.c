// SPDX-License-Identifier: Apache-2.0
//
// A traced process that is killed. SIGKILL is no stop, but the exit of the process
// is one, where its registers and its memory are still there: it is held like a crash,
// for a second at most, because the memory of a process that was killed for that is
// wanted elsewhere.
//
// The kernel's timer interrupts the tracer's wait, to look at the program that was
// started.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "agent/trace/trace_state.h"
#include "base/clock.h"
#include "shared/settings_table.h"

static void wake_up(int signal)
{
    (void)signal;
}

void trace_wake_up_every(uint64_t pause_ms)
{
    const struct timeval pause = { (time_t)(pause_ms / 1000),
                                   (suseconds_t)(pause_ms % 1000) * 1000 };
    (void)setitimer(ITIMER_REAL, &(const struct itimerval){ pause, pause }, NULL);
}

void trace_termination_begin(struct trace *trace)
{
    const struct sigaction action = { .sa_handler = wake_up };
    trace->started_ns = clock_now_ns(CLOCK_BOOTTIME);
    keep_begin(&trace->keep, trace->root, LIVENESS_BY_TRACE);
    const char *chosen = getenv(settings_name_at(SETTING_AT_kills));
    trace->root_kills_only = chosen == NULL || chosen[0] == 0;
    trace->kills = trace->root_kills_only || trace->settings->kills != KILLS_NO;
    if (sigaction(SIGALRM, &action, NULL) != 0 || !trace->kills)
        return;
    trace->pause_ms = keep_pause_ms(0);
    trace->next_ms = clock_now_ms(CLOCK_MONOTONIC) + trace->pause_ms;
    trace_wake_up_every(trace->pause_ms);
}

void trace_termination_look(struct trace *trace)
{
    if (!trace->kills || trace->root_ended)
        return;
    uint64_t now = clock_now_ms(CLOCK_MONOTONIC);
    if (now < trace->next_ms)
        return;
    keep_look(&trace->keep);
    trace->pause_ms = keep_pause_ms(trace->pause_ms);
    trace->next_ms = now + trace->pause_ms;
    if (trace->pair.tid == 0) // which wants it more often
        trace_wake_up_every(trace->pause_ms);
}

void trace_termination_asked(struct trace *trace, pid_t process, int signal,
                             const siginfo_t *info)
{
    if (process == trace->root)
        (void)keep_asked(&trace->keep, signal, info);
}

bool trace_termination_fill(struct trace *trace, pid_t process, int signal,
                            struct trace_crash *out)
{
    struct termination *termination = &trace->out->termination;
    if (!trace->kills || !termination_is_kill(signal))
        return false;
    struct keep *keep = &trace->keep;
    struct keep other;
    if (process != trace->root) { // that has samples of its own
        keep_begin(&other, process, LIVENESS_BY_TRACE);
        keep = &other;
        // What it has in common with the first, which it began with, is its cgroup.
        if (strcmp(other.usage.folder, trace->keep.usage.folder) == 0)
            other.before = trace->keep.before;
    } else {
        keep_follow(keep);
    }
    keep_end(keep, signal);
    usage_sample_end(&keep->usage, &keep->liveness);
    *termination = (struct termination){ .pid = process,
                                         .supervisor = LIVENESS_BY_TRACE,
                                         .signal = signal,
                                         .realtime_ns = keep->liveness.end_realtime_ns,
                                         .started_ns = trace->started_ns,
                                         .liveness = keep->liveness };
    if (process != trace->root && trace->root_kills_only &&
        !termination_is_by_kernel(termination, trace->memory_kills))
        return false;
    const struct liveness_events *events = &keep->liveness.events;
    trace->memory_kills = events->oom_kills + events->oomd_kills;
    out->info.si_signo = signal;
    out->killed = true;
    return true;
}
