// SPDX-License-Identifier: Apache-2.0
//
// A traced process that is killed. SIGKILL is no stop, but the way out of the process
// is one, where its registers and its memory are still there: it is held like a crash,
// for a second at most, because the memory of a process that was killed for that is
// wanted elsewhere.
//
// The kernel's timer interrupts the tracer's wait once a second, to look at the memory
// of the program that was started.
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "agent/trace_state.h"
#include "base/clock.h"

static void wake_up(int signal)
{
    (void)signal;
}

void trace_death_begin(struct trace *trace)
{
    const struct sigaction action = { .sa_handler = wake_up };
    const struct itimerval each_second = { { 1, 0 }, { 0, 10000 } };
    trace->started_ns = clock_now_ns(CLOCK_BOOTTIME);
    keep_begin(&trace->keep, trace->root, LIFE_BY_TRACE);
    if (trace->settings->kills == KILLS_NO || sigaction(SIGALRM, &action, NULL) != 0)
        return;
    (void)setitimer(ITIMER_REAL, &each_second, NULL);
}

void trace_death_look(struct trace *trace)
{
    uint64_t now = clock_now_ns(CLOCK_REALTIME);
    const struct context_life *life = &trace->keep.life;
    const struct life_sample *last = &life->sample[(life->samples - 1) % LIFE_SAMPLES];
    if (trace->settings->kills == KILLS_NO || trace->root_ended ||
        (life->samples != 0 && now - last->realtime_ns < 500000000))
        return;
    keep_look(&trace->keep);
}

void trace_death_asked(struct trace *trace, pid_t process, int signal,
                       const siginfo_t *info)
{
    if (process == trace->root)
        (void)keep_asked(&trace->keep, signal, info);
}

bool trace_death_fill(struct trace *trace, pid_t process, struct trace_crash *out)
{
    struct death *death = &trace->out->death;
    if (trace->settings->kills == KILLS_NO)
        return false;
    struct keep *keep = &trace->keep;
    struct keep other;
    if (process != trace->root) { // that has samples of its own
        keep_begin(&other, process, LIFE_BY_TRACE);
        keep = &other;
        // What it has in common with the first, which it began with, is its cgroup.
        if (strcmp(other.usage.folder, trace->keep.usage.folder) == 0)
            other.before = trace->keep.before;
    } else {
        keep_follow(keep);
    }
    keep_end(keep, SIGKILL);
    // The kernel may be emptying it already.
    usage_sample(&keep->usage,
                 keep->life.events.oom_kills != 0 ? usage_peak(&keep->usage) : 0,
                 &keep->life);
    *death = (struct death){ .pid = process,
                             .keeper = LIFE_BY_TRACE,
                             .signal = SIGKILL,
                             .realtime_ns = keep->life.end_realtime_ns,
                             .started_ns = trace->started_ns,
                             .life = keep->life };
    out->info.si_signo = SIGKILL;
    out->killed = true;
    return true;
}
