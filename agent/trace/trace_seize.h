// SPDX-License-Identifier: Apache-2.0
//
// A process of which the waiting agent traces the first thread, until it exits
// (CRASHHOOK_KILLS=seize): when it is killed, its registers and its memory are still
// readable, and a signal that requests it to end carries its sender. Other threads are
// not traced, so that they cost nothing; a debugger can no longer attach.
//
// The agent detaches from the thread before a crash is reported, because the process
// that reports it traces the thread itself.
#pragma once
#include "agent/live/keep.h"
#include "agent/trace/trace.h"

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
