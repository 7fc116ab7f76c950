// SPDX-License-Identifier: Apache-2.0
//
// The tracer's state, for trace*.c alone: which threads it traces and which processes
// it holds. Nothing is stored for a running thread: what is needed is read when it
// stops, so a thread costs the tracer one bit.
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "agent/live/keep.h"
#include "agent/live/stop.h"
#include "agent/trace/trace.h"
#include "agent/trace/trace_pair.h"

enum {
    TRACE_TIDS = 1 << 22, // PID_MAX_LIMIT (include/linux/threads.h)
    TRACE_CAUGHT = 128,   // slots, by thread id, for threads whose handlers received a
                          // signal
    TRACE_REPORTED = 16,
};

// A trace_reported_process is one whose end has been reported.
struct trace_reported_process {
    pid_t pid; // 0: none, or it has ended
    bool dies; // of the signal that it got then
};

// A trace_caught is a crash signal that was passed on to the process's own handler.
struct trace_caught {
    siginfo_t info;
    struct stopped_thread thread; // at that moment
};

// A trace_caught_list is the signals that a thread's handlers received, oldest first:
// while a handler runs for one, it may fault and recover. A full list has the oldest
// and the newest.
struct trace_caught_list {
    pid_t tid;
    size_t count;
    uint32_t overflows; // signals that arrived while the list was full
    struct trace_caught items[4];
};

// A trace_crash is a crash to be reported.
struct trace_crash {
    pid_t process;
    pid_t own_number; // of the process, in its own PID namespace
    pid_t tid;
    siginfo_t info;
    int signal; // to deliver afterwards; 0: it is already dying
    bool dies;  // the whole process does
    bool exits; // from a handler, with exit_status
    int exit_status;
    bool killed;     // it is none: trace_report.termination says
    bool only_first; // it is a crash only if a handler is running
};

// A trace_hold is a process that is held, or whose report is being finished.
struct trace_hold {
    pid_t reporter; // our child that makes the report
    pid_t tid;      // the crashed thread
    int signal;     // to deliver then; 0: it is already dying
    bool held;
    bool written; // the report is, but not finished
    bool dies;    // the whole process does
    bool first;   // it is the first process of a PID namespace
    // Until when it is held, of CLOCK_MONOTONIC; 0: until the report is written. When
    // it is no longer held: until when its other threads are.
    uint64_t until_ms;
    struct stop stop;
    struct agent_request request;  // of the reporter
    struct stopped_thread crashed; // the thread with tid
};

// A trace_seen is a stop of a thread that waitpid has given, of a process that was then
// held, so that the stop is still to be handled.
struct trace_seen {
    pid_t tid;
    int status;
};

struct trace {
    const struct settings *settings;
    pid_t root; // the process that was started
    bool root_ended;
    uint64_t root_ended_ms;
    struct stat standard_error; // of the program at its start; st_ino 0: none
    bool keeps_privileges;      // programs that gain privileges at exec still do
    bool told;                  // the message that they do not was printed
    struct trace_hold *holds;
    size_t hold_count;
    size_t hold_capacity;
    struct trace_seen *seen; // the last is handled first, before any other stop
    size_t seen_count;
    size_t seen_capacity;
    struct trace_caught_list caught[TRACE_CAUGHT];
    struct trace_pair pair;
    bool caught_any;   // some handler has received a crash signal
    pid_t refused_tid; // the thread that has sent SIGABRT, to no effect
    siginfo_t refused_abort;
    struct trace_reported_process reported[TRACE_REPORTED]; // the latest
    size_t reported_count;
    struct trace_report *out;
    struct keep keep;               // of the root
    bool kills;                     // processes that are killed are reported,
    bool root_kills_only;           // only the root unless the kernel kills
    uint64_t memory_kills;          // in its cgroup, when the last was reported
    uint64_t started_ns;            // when, of CLOCK_BOOTTIME
    uint64_t pause_ms;              // until the next look at it
    uint64_t next_ms;               // when that is, of CLOCK_MONOTONIC
    uint64_t tids[TRACE_TIDS / 64]; // bit N: thread N is traced
};

// A trace_next is the result of handling a stop; after most there is nothing to do.
enum trace_next {
    TRACE_GO_ON,
    TRACE_REPORT, // this is the new process, which makes the report
};

// trace_note_thread records whether thread tid is traced.
void trace_note_thread(struct trace *trace, pid_t tid, bool traced);

// trace_hear_of_stops chooses whether each stop of a thread sends us SIGCHLD. waitpid
// does not need it; only waiting with a timeout does.
void trace_hear_of_stops(bool hear);

// trace_continue resumes tid with signal; for a thread killed meanwhile it does
// nothing.
void trace_continue(pid_t tid, int signal);

// trace_is_job_stop returns true if the default action of the signal stops the process.
bool trace_is_job_stop(int signal);

// trace_signal_stop handles tid being about to receive signal.
enum trace_next trace_signal_stop(struct trace *trace, pid_t tid, int signal);

// trace_exit_stop handles tid being about to exit.
enum trace_next trace_exit_stop(struct trace *trace, pid_t tid);

// trace_exec_stop handles tid having become another program.
void trace_exec_stop(struct trace *trace, pid_t tid);

// trace_caught_note records that a handler of thread, as it is now, is about to receive
// info. trace_caught_repeats returns true if a handler that faults again and again has
// made the same fault as before, deeper on its stack; that is then recorded.
void trace_caught_note(struct trace *trace, const struct stopped_thread *thread,
                       const siginfo_t *info);
bool trace_caught_repeats(struct trace *trace, const struct stopped_thread *now,
                          int signal);

// trace_caught_open is the oldest signal of the thread whose handler is still running,
// or could not be called; NULL: none. thread is its present state. Where Go has moved
// the stack since, so have the registers.
const struct trace_caught *trace_caught_open(struct trace *trace,
                                             const struct stopped_thread *thread);

// trace_caught_is_there returns true if the thread is where it was when it got the
// signal: the handler could not be called, or has returned without effect.
bool trace_caught_is_there(const struct trace_caught *caught,
                           const struct stopped_thread *now);

// trace_is_sending returns true if the thread is in a call that sends signals. A
// process that kills itself does not come back from there.
bool trace_is_sending(const struct stopped_thread *thread);

// trace_termination_begin begins to look at what the program uses;
// trace_termination_look looks, if it is time.
void trace_termination_begin(struct trace *trace);
void trace_termination_look(struct trace *trace);

// trace_wake_up_every has a timer interrupt the tracer's wait; 0: never.
void trace_wake_up_every(uint64_t pause_ms);

// trace_termination_asked notes a signal that process is about to receive.
void trace_termination_asked(struct trace *trace, pid_t process, int signal,
                             const siginfo_t *info);

// trace_termination_fill describes a process that signal has killed. False: that is not
// to be reported. A program often kills its children on purpose, and the kernel does
// not report the sender of SIGKILL. So where CRASHHOOK_KILLS is not set, a child is
// reported only if the kernel killed it.
bool trace_termination_fill(struct trace *trace, pid_t process, int signal,
                            struct trace_crash *out);

// trace_pass_on gives tid the signal that it has stopped for. A call that the kernel
// has interrupted for one that is ignored is restarted.
void trace_pass_on(pid_t tid, int signal);

// trace_fill_request describes what ends the process as its handler would.
void trace_fill_request(struct agent_request *out, pid_t process,
                        const struct stopped_thread *thread, const siginfo_t *info);

// trace_hold_begin holds the process of a crash and starts its reporter. Where that
// fails, the thread is resumed at once.
enum trace_next trace_hold_begin(struct trace *trace, const struct trace_crash *given);

// trace_hold_of_reporter is the hold whose report pid makes, or NULL.
struct trace_hold *trace_hold_of_reporter(struct trace *trace, pid_t pid);

// trace_hold_late records a stop of a thread that should have been held; false: it is
// not a thread of a held process.
bool trace_hold_late(struct trace *trace, pid_t tid, int status);

// trace_hold_release resumes the crashed thread, so that the process dies if it is to
// die. If it does, the other threads stay stopped, otherwise their stops are handled
// (trace_seen).
void trace_hold_release(struct trace *trace, struct trace_hold *hold);

// trace_hold_expire resumes those that have been held for as long as they may be. Their
// reports are made of what was read by then. Threads of a process that has not died of
// its signal in time go on.
void trace_hold_expire(struct trace *trace);

// trace_hold_retry has the process that hold holds read once more, with care, if its
// reporter was killed because a page of memory did not come (REQUEST_STALL_MS). It
// returns TRACE_REPORT in the new reporter; elsewhere out_retried says whether there is
// one.
enum trace_next trace_hold_retry(struct trace *trace, struct trace_hold *hold,
                                 int status, bool *out_retried);

// trace_hold_forget drops hold, whose reporter has ended, and frees its threads.
void trace_hold_forget(struct trace *trace, struct trace_hold *hold);

// trace_hold_reported is the entry of a process whose end has been reported, or NULL.
struct trace_reported_process *trace_hold_reported(struct trace *trace, pid_t process);

// trace_say prints a line if the standard error of process pid is still original, the
// one that the program was started with.
void trace_say(pid_t pid, const struct stat *original, const char *format, ...)
    CH_PRINTF(3, 4);

// trace_standard_file duplicates a descriptor of process pid, or gives -1.
int trace_standard_file(pid_t pid, int number);
