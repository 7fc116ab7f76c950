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
#include <sys/ptrace.h>
#include <sys/resource.h>
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
    trace->death = (struct death){ .keeper = DEATH_BY_TRACE,
                                   .signal = SIGKILL,
                                   .started_ns = clock_now_ns(CLOCK_BOOTTIME) };
    usage_open(&trace->usage, trace->root);
    trace->oom_kills = usage_oom_kills(&trace->usage);
    if (trace->settings->kills == KILLS_NO || sigaction(SIGALRM, &action, NULL) != 0)
        return;
    (void)setitimer(ITIMER_REAL, &each_second, NULL);
}

void trace_death_look(struct trace *trace)
{
    uint64_t now = clock_now_ns(CLOCK_REALTIME);
    const struct context_life *life = &trace->death.life;
    const struct life_sample *last = &life->sample[(life->samples - 1) % LIFE_SAMPLES];
    if (trace->settings->kills == KILLS_NO || trace->root_ended ||
        (life->samples != 0 && now - last->realtime_ns < 500000000))
        return;
    usage_sample(&trace->usage, 0, &trace->death.life);
}

void trace_death_asked(struct trace *trace, pid_t process, int signal,
                       const siginfo_t *info)
{
    struct context_life *life = &trace->death.life;
    if (process != trace->root || (signal != SIGTERM && signal != SIGINT &&
                                   signal != SIGHUP && signal != SIGQUIT))
        return;
    life->asked_signal = signal;
    life->asked_by = info->si_code <= 0 ? info->si_pid : 0;
    life->asked_realtime_ns = clock_now_ns(CLOCK_REALTIME);
    death_ask_name(&trace->death);
}

// read_processor_time reads the limit and the use of the processor's time.
static void read_processor_time(pid_t process, struct death *out)
{
    struct rlimit limit;
    clockid_t clock;
    if (prlimit(process, RLIMIT_CPU, NULL, &limit) == 0 &&
        limit.rlim_max != RLIM_INFINITY)
        out->cpu_limit_s = limit.rlim_max;
    if (clock_getcpuclockid(process, &clock) == 0)
        out->cpu_used_ms = clock_now_ms(clock);
}

bool trace_death_fill(struct trace *trace, pid_t process, struct trace_crash *out)
{
    struct death *death = &trace->out->death;
    if (trace->settings->kills == KILLS_NO)
        return false;
    *death = trace->death;
    death->pid = process;
    death->realtime_ns = clock_now_ns(CLOCK_REALTIME);
    if (process != trace->root) { // that has samples of its own
        death->life = (struct context_life){ 0 };
        death->asked_by[0] = 0;
    }
    struct usage usage;
    usage_open(&usage, process); // it may have changed its cgroup
    bool same = strcmp(usage.folder, trace->usage.folder) == 0;
    uint64_t kills = same ? usage_oom_kills(&usage) : 0;
    death->oom_kills = kills > trace->oom_kills ? kills - trace->oom_kills : 0;
    // The kernel may be emptying it already.
    usage_sample(&usage, death->oom_kills != 0 ? usage_peak(&usage) : 0, &death->life);
    read_processor_time(process, death);
    out->info.si_signo = SIGKILL;
    out->killed = true;
    return true;
}
