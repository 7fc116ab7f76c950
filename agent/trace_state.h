// SPDX-License-Identifier: Apache-2.0
//
// What the tracer knows, for trace*.c alone: which threads it traces and which
// processes it holds. Nothing is kept of a thread that runs: whatever is needed of it
// is asked for when it stops, so that a thread costs the tracer a bit.
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "agent/live/stop.h"
#include "agent/trace.h"

enum {
    TRACE_TIDS = 1 << 22, // PID_MAX_LIMIT (include/linux/threads.h)
    TRACE_CAUGHT = 128,   // threads whose handlers were given a signal, by number
    TRACE_REPORTED = 16,
};

// A crash's signal that was passed on to the process's own handler.
struct trace_caught {
    siginfo_t info;
    struct stopped_thread thread; // as it was
};

// The signals that a thread's handlers were given, the oldest first: a handler that is
// at work on one may fault, and recover.
struct trace_caught_list {
    pid_t tid;
    size_t count;
    struct trace_caught items[4];
};

// A crash that is to be reported.
struct trace_crash {
    pid_t process;
    pid_t tid;
    siginfo_t info;
    int signal; // what the thread is given afterwards; 0: it is dying already
    bool dies;  // all of the process does
    bool exits; // with exit_status, out of a handler
    int exit_status;
};

// A process that is held, or whose report is being finished.
struct trace_hold {
    pid_t reporter; // our child that makes the report
    pid_t tid;      // the thread that crashed
    int signal;     // what it is then given; 0: it is dying already
    bool held;
    bool dies; // all of the process
    struct stop stop;
};

struct trace {
    const struct settings *settings;
    pid_t root; // what was started
    bool root_ended;
    uint64_t root_ended_ms;
    struct stat standard_error; // of the program at its start; st_ino 0: none
    bool keeps_privileges;      // programs that gain privileges still do
    bool told;                  // that they do not
    struct trace_hold *holds;
    size_t hold_count;
    size_t hold_capacity;
    struct trace_caught_list caught[TRACE_CAUGHT];
    pid_t reported[TRACE_REPORTED]; // processes, the latest of them
    size_t reported_count;
    struct trace_report *out;
    uint64_t tids[TRACE_TIDS / 64]; // bit N: thread N is traced
};

// What trace_handle found: most stops leave nothing to do.
enum trace_next {
    TRACE_GO_ON,
    TRACE_REPORT, // this is the new process, which makes a report
};

// trace_handle answers one stop of thread tid and lets it run on, or holds its process.
enum trace_next trace_handle(struct trace *trace, pid_t tid, int status);

// trace_hear_of_stops has each stop of a thread send us SIGCHLD. waitpid needs none,
// and all else can do without most of the time.
void trace_hear_of_stops(bool hear);

// trace_continue lets tid run on with signal; one that was killed meanwhile does not
// mind.
void trace_continue(pid_t tid, int signal);

// trace_signal_stop: tid is about to be given signal.
enum trace_next trace_signal_stop(struct trace *trace, pid_t tid, int signal);

// trace_exit_stop: tid is about to exit.
enum trace_next trace_exit_stop(struct trace *trace, pid_t tid);

// trace_exec_stop: tid has become another program.
void trace_exec_stop(struct trace *trace, pid_t tid);

// trace_caught_note remembers that a handler is about to be given info.
void trace_caught_note(struct trace *trace, pid_t tid, const siginfo_t *info);

// trace_caught_open is the first that a handler of the thread was given and is still at
// work on, or could not be called for; NULL: nothing. thread is as it is now.
const struct trace_caught *trace_caught_open(const struct trace *trace,
                                             const struct stopped_thread *thread);

// trace_hold_begin holds the process of a crash and starts what makes its report. Where
// it cannot, the thread is let go at once.
enum trace_next trace_hold_begin(struct trace *trace, const struct trace_crash *crash);

// trace_hold_of_reporter is the hold whose report pid makes, or NULL.
struct trace_hold *trace_hold_of_reporter(struct trace *trace, pid_t pid);

// trace_hold_late notes a stop of a thread that should have been held; false: it is not
// of a process that is.
bool trace_hold_late(struct trace *trace, pid_t tid, int status);

// trace_hold_release lets the held process run on, or die. gone: the reporter is.
enum trace_next trace_hold_release(struct trace *trace, struct trace_hold *hold);

// trace_hold_forget: the reporter of hold has ended.
void trace_hold_forget(struct trace *trace, struct trace_hold *hold);

// trace_say prints a line where the standard error of process pid still is original,
// what it was when the program was started.
void trace_say(pid_t pid, const struct stat *original, const char *format, ...)
    CH_PRINTF(3, 4);

// trace_standard_error gives a descriptor of process pid's standard error, or -1.
int trace_standard_error(pid_t pid);
