// SPDX-License-Identifier: Apache-2.0
//
// Watching a whole program from outside: `crashhook run --via trace`. The program needs
// nothing linked in, so any kind can be watched: static, with another C library, in Go.
//
// The tracer sees every signal before its process does. A crash signal that the process
// neither catches nor ignores is fatal: all its threads are held, a separate process
// makes the report (main.c), and then the signal is delivered. All other signals are
// passed on unchanged. Threads and children that the program creates are traced from
// their first instruction; the tracer ends when the last of them has ended and its
// reports are finished.
//
// No process waits for the tracer and it holds no resource of the program. If it dies,
// the program continues without it (no PTRACE_O_EXITKILL).
//
// trace.c has the loop, trace_signal.c decides about each signal, trace_caught.c tracks
// signals given to the program's handlers, trace_pair.c the thread
// that shares the tracer's processor, trace_hold.c has the processes held for a
// report, trace_termination.c what is killed, trace_exec.c what exec takes from a
// traced program, trace_control.c the requests to the kernel that all of them make.
#pragma once
#include <sys/stat.h>

#include "agent/facts/termination.h"
#include "agent/live/capture.h"
#include "agent/live/keep.h"
#include "agent/live/request.h"
#include "base/settings/settings.h"

// A trace_report is the input of a process that makes a report.
struct trace_report {
    struct agent_request request;
    struct stop stop;           // the threads, held by the tracer
    int memory_fd;              // /proc/PID/mem; -1: it cannot be opened
    struct stat standard_error; // the program's at its start
    bool killed;                // it is no crash:
    struct termination termination;
    const struct context_page *context; // what the process recorded; NULL: it is to be
                                        // looked for
};

// trace_serve traces process pid from now on. First it sends our pid to the other end
// of channel and, after a byte from there, whether tracing worked (an errno, 0: it
// did). It returns in a new process for each crash, with what is to be reported;
// trace_reported resumes the tracer's work. The tracer itself exits.
void trace_serve(pid_t pid, int channel, const struct settings *settings,
                 struct trace_report *out);

// trace_reported notifies the tracer that the report is written, and returns once the
// process has been released.
void trace_reported(void);

// trace_unreported prints on the program's standard error and in the system's log that
// the crash is not reported; why ends the line.
void trace_unreported(const struct trace_report *report, const char *why);

// trace_keeps_privileges returns true if a program that gains privileges at exec still
// does when this process traces it: without CAP_SYS_PTRACE the kernel starts it without
// them (ptrace(2), "execve(2) under ptrace").
bool trace_keeps_privileges(void);

// A process of which the waiting agent traces the first thread, until it exits
// (CRASHHOOK_KILLS=seize): when it is killed, its registers and its memory are still
// readable, and a signal that requests it to end carries its sender. Other threads are
// not traced, so that they cost nothing; a debugger can no longer attach.
//
// The agent detaches from the thread before a crash is reported, because the process
// that reports it traces the thread itself.

enum trace_seize {
    SEIZE_RUNS,
    SEIZE_DIES, // it was killed, and is held while it exits
    SEIZE_FREE, // it is traced no longer
};

// trace_seize_begin begins to trace the first thread of process pid. False: it cannot,
// or not yet.
bool trace_seize_begin(pid_t pid);

// trace_seize_look handles what the thread has stopped for since the last look, and
// notes in keep which process requests it to end. out_signal: by which signal it was
// killed, or ended; 0: neither.
enum trace_seize trace_seize_look(struct keep *keep, int *out_signal);

// trace_seize_report forks the process that reports a process that dies, and returns
// true in that, with what is to be reported; out->context stays as it is. In the caller
// it returns once the report is written, out_written, or cannot be, and has let the
// process go on.
bool trace_seize_report(pid_t pid, const struct termination *termination,
                        struct trace_report *out, bool *out_written);

// trace_seize_end detaches from a thread that runs.
void trace_seize_end(pid_t pid);
