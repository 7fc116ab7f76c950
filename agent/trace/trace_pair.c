// SPDX-License-Identifier: Apache-2.0
#include "agent/trace/trace_pair.h"

#include <sched.h>
#include <string.h>
#include <sys/ptrace.h>

#include "agent/trace/trace_state.h"

enum {
    FAULTS_MIN = 16, // so many must have been alike
    UNREAD_MAX = 7,
    LOOK_EVERY_MS = 5,
};

// trace_pair_bind binds thread tid and the tracer to the processor that it is on now.
static void trace_pair_bind(struct trace *trace, pid_t tid)
{
    struct trace_pair *pair = &trace->pair;
    int processor = sched_getcpu();
    if (sched_getaffinity(tid, sizeof(pair->thread), &pair->thread) != 0 ||
        sched_getaffinity(0, sizeof(pair->tracer), &pair->tracer) != 0 ||
        processor < 0 || !CPU_ISSET((size_t)processor, &pair->thread))
        return;
    CPU_ZERO(&pair->bound);
    CPU_SET((size_t)processor, &pair->bound);
    if (sched_setaffinity(tid, sizeof(pair->bound), &pair->bound) != 0)
        return;
    (void)sched_setaffinity(0, sizeof(pair->bound), &pair->bound);
    pair->tid = tid;
    trace_wake_up_every(LOOK_EVERY_MS);
}

void trace_pair_begin(struct trace *trace, pid_t tid, int signal, uint32_t faults)
{
    struct trace_pair *pair = &trace->pair;
    if (pair->tid == 0 && faults >= FAULTS_MIN)
        trace_pair_bind(trace, tid);
    if (pair->tid != tid)
        return;
    pair->signal = signal;
    pair->unread = 0;
    pair->faulted = true;
}

bool trace_pair_skips(struct trace *trace, pid_t tid, int signal)
{
    struct trace_pair *pair = &trace->pair;
    bool skips =
        pair->tid == tid && pair->signal == signal && pair->unread < UNREAD_MAX;
    if (skips || pair->unread_tid == tid)
        pair->unread_tid = skips ? tid : 0;
    pair->unread += skips;
    pair->faulted |= skips;
    return skips;
}

// trace_pair_restore gives thread tid its affinity back, unless somebody has set it.
static void trace_pair_restore(const struct trace_pair *pair, pid_t tid)
{
    cpu_set_t now;
    if (sched_getaffinity(tid, sizeof(now), &now) == 0 && CPU_EQUAL(&now, &pair->bound))
        (void)sched_setaffinity(tid, sizeof(pair->thread), &pair->thread);
}

void trace_pair_end(struct trace *trace, pid_t tid, int event)
{
    struct trace_pair *pair = &trace->pair;
    unsigned long child = 0;
    if (pair->tid == 0)
        return;
    trace_pair_restore(pair, pair->tid);
    bool makes_child = event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK ||
                       event == PTRACE_EVENT_VFORK;
    if (tid == pair->tid && makes_child)
        (void)ptrace(PTRACE_GETEVENTMSG, tid, NULL, &child);
    else if (event == PTRACE_EVENT_STOP) // the child's first, which may come before
        child = (unsigned long)tid;
    if (child != 0)
        trace_pair_restore(pair, (pid_t)child);
    (void)sched_setaffinity(0, sizeof(pair->tracer), &pair->tracer);
    pair->tid = 0;
    trace_wake_up_every(trace->pause_ms);
}

void trace_pair_look(struct trace *trace)
{
    if (!trace->pair.faulted)
        trace_pair_end(trace, 0, 0);
    trace->pair.faulted = false;
}
