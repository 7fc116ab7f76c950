// SPDX-License-Identifier: Apache-2.0
//
// A thread whose handler faults again and again, and the tracer, on one processor.
//
// Each of the thousands of faults stops the thread and wakes the tracer, which resumes
// it. The scheduler spreads the two over idle processors, and waking one of those costs
// several times as much as the rest. So both are bound to the processor that the tracer
// is on. Whatever else happens to the thread ends that: another stop, which is then
// handled with the thread's own affinity, or a timer's interval without a fault, since
// the handler may have been left by longjmp.
//
// A child that the thread makes meanwhile inherits its affinity, and gets it back too.
#pragma once
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct trace;

struct trace_pair {
    pid_t tid;        // the thread; 0: there is no pair
    int signal;       // of the faults
    unsigned unread;  // faults since the registers were read
    pid_t unread_tid; // whose last crash signal was passed on unread; 0: none
    bool faulted;     // since the timer last interrupted the tracer's wait
    cpu_set_t thread; // their affinity, before
    cpu_set_t tracer;
    cpu_set_t bound; // and meanwhile
};

// trace_pair_begin is called when tid has stopped for one of so many faults that are
// alike. After the first few it makes the pair.
void trace_pair_begin(struct trace *trace, pid_t tid, int signal, uint32_t faults);

// trace_pair_skips returns true if the signal of the pair's thread is to be passed on
// unread, as most are. The thread may die of it.
bool trace_pair_skips(struct trace *trace, pid_t tid, int signal);

// trace_pair_end ends the pair, if there is one, before a stop of tid for event is
// handled.
void trace_pair_end(struct trace *trace, pid_t tid, int event);

// trace_pair_look ends the pair if its thread has not faulted since the last call. It
// is called when a signal has interrupted the tracer's wait.
void trace_pair_look(struct trace *trace);
