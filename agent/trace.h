// SPDX-License-Identifier: Apache-2.0
//
// Watching a whole program from outside: `crashhook run --via trace`. The program needs
// nothing in it, so any kind can be watched: static, of another C library, of Go.
//
// The tracer sees every signal before its process does. One that the process neither
// catches nor ignores, and that is a crash, is fatal: all its threads are held, a
// process of its own makes the report (main.c), and then the signal is delivered.
// Everything else is passed on as it came. A thread or child that the program makes is
// traced from its first instruction; the tracer ends when the last of them has ended
// and its reports are finished.
//
// Nobody waits for the tracer and it holds nothing of the program. Where it dies, the
// program goes on without it (no PTRACE_O_EXITKILL).
//
// trace.c has the loop, trace_signal.c what becomes of a signal,
// trace_caught.c what a handler of the program was given, trace_hold.c the
// processes that are held for a report, trace_exec.c what exec takes from a traced
// program.
#pragma once
#include <sys/stat.h>

#include "agent/capture.h"
#include "agent/request.h"
#include "base/settings.h"

// What a process that is to make a report starts from.
struct trace_report {
    struct agent_request request;
    struct stop stop;           // the threads, held by the tracer
    int memory_fd;              // /proc/PID/mem; -1: it cannot be opened
    struct stat standard_error; // the program's, when it was started
};

// trace_serve traces process pid from now on, having told whoever waits at channel our
// pid and, after a byte from there, whether that worked (errno, 0: it did). It returns
// in a new process for each crash, with what is to be reported; trace_reported lets the
// tracer go on. The tracer itself exits.
void trace_serve(pid_t pid, int channel, const struct settings *settings,
                 struct trace_report *out);

// trace_reported tells the tracer that the report is written, and returns when the
// process has been let go.
void trace_reported(void);

// trace_unreported says on the program's standard error and in the system's log that
// the crash is not reported; why ends the line.
void trace_unreported(const struct trace_report *report, const char *why);

// trace_keeps_privileges is whether a program that gains privileges still does when
// this process traces it: without CAP_SYS_PTRACE the kernel starts it without them
// (ptrace(2), "execve(2) under ptrace").
bool trace_keeps_privileges(void);
