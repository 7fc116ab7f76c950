// SPDX-License-Identifier: Apache-2.0
//
// Stopping every thread of a process, and resuming them without a trace.
//
// PTRACE_SEIZE sends no signal and PTRACE_INTERRUPT stops without one, so the program
// cannot notice; a system call that a stop interrupts is restarted. All threads are
// requested to stop before any is waited for. A thread that does not stop in time (in
// uninterruptible sleep) is left out, and the report says so. stop*.c and trace*.c have
// the tree's ptrace calls, but for those in handler/crash/crash_seize.c.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/live/stopped_thread.h"
#include "base/status.h"
#include "base/text.h"

struct stop {
    pid_t pid;
    struct stopped_thread *threads;
    size_t count;
    size_t capacity;
    int refused;        // errno of a PTRACE_SEIZE that was refused; 0: none
    pid_t tracer;       // the other process that traces pid; 0: none
    struct text status; // of the process in /proc; empty: not known
    int tasks_fd;       // /proc/PID/task; 0: not open
    bool traced;        // we trace the threads before and after the stop too
    bool seized;        // this process has seized threads before it became the agent
};

// stop_threads stops all threads of pid within budget_ms, except free_tid (0: none),
// which is listed as STOP_FREE. It leaves SIGCHLD blocked, with its default action.
// CH_ERR_IO: the threads cannot be listed. CH_ERR_NOT_FOUND: no thread could be
// stopped; stop->refused says why.
CH_CHECKED enum ch_status stop_threads(struct stop *stop, pid_t pid, pid_t free_tid,
                                       unsigned budget_ms);

// stop_seized is stop_threads for a process of whose threads the caller has seized and
// interrupted some before it became this program.
CH_CHECKED enum ch_status stop_seized(struct stop *stop, pid_t pid, pid_t free_tid,
                                      unsigned budget_ms);

// stop_traced is stop_threads for a process whose threads the caller already traces and
// will go on tracing: they are requested to stop, and each one's wait_status is what it
// was about to report. stop_release and stop_await_termination are not for these.
CH_CHECKED enum ch_status stop_traced(struct stop *stop, pid_t pid, pid_t free_tid,
                                      unsigned budget_ms);

// stop_release resumes every stopped thread, delivers its pending signal and restarts
// its system call. One that is not stopped any more is left to stop_await_termination.
void stop_release(struct stop *stop);

// stop_await_termination reaps the threads of a dying process, so that its parent is
// notified; a process still alive after limit_ms is released. The caller may exec only
// after this: a tracer that does not reap keeps the dead threads from the parent.
void stop_await_termination(struct stop *stop, unsigned limit_ms);

// stop_deinit frees the list; threads still stopped stay so until the caller exits.
void stop_deinit(struct stop *stop);
