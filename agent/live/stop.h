// SPDX-License-Identifier: Apache-2.0
//
// Stopping every thread of a process, and letting them go as if nothing had been.
//
// PTRACE_SEIZE sends no signal and PTRACE_INTERRUPT stops without one, so the program
// cannot notice; a system call that a stop interrupts is restarted. All threads are
// told to stop before any is waited for. A thread that does not stop in time (it sleeps
// uninterruptibly) is left out and said so. stop*.c and trace*.c have the tree's only
// ptrace calls.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/live/stopped_thread.h"
#include "base/status.h"

struct stop {
    pid_t pid;
    struct stopped_thread *threads;
    size_t count;
    size_t capacity;
    int refused;  // errno of a PTRACE_SEIZE that was refused; 0: none
    int tasks_fd; // /proc/PID/task; 0: not open
    bool traced;  // they are traced by us before and after
};

// stop_threads stops all threads of pid but free_tid (0: none), which appears in the
// list as STOP_FREE, within budget_ms. Blocks SIGCHLD for good, with its
// default action. CH_ERR_IO: the threads
// cannot be listed. CH_ERR_NOT_FOUND: no thread could be stopped, stop->refused says
// why.
CH_CHECKED enum ch_status stop_threads(struct stop *stop, pid_t pid, pid_t free_tid,
                                       unsigned budget_ms);

// stop_traced is stop_threads for a process whose threads are traced by the caller
// already, and stay so: they are told to stop, and each one's wait_status says what it
// was about to tell its tracer. stop_release and stop_await_death are not for these.
CH_CHECKED enum ch_status stop_traced(struct stop *stop, pid_t pid, pid_t free_tid,
                                      unsigned budget_ms);

// stop_release lets every stopped thread run on, its pending signal delivered, its
// system call restarted.
void stop_release(struct stop *stop);

// stop_await_death reaps the threads of a process that is dying, so that its parent
// hears of it; a process that lives on after limit_ms is released. Only then may the
// caller exec: a tracer that stays keeps the dead from their parent.
void stop_await_death(struct stop *stop, unsigned limit_ms);

// stop_deinit forgets the list; threads still stopped stay so until the caller exits.
void stop_deinit(struct stop *stop);
