// SPDX-License-Identifier: Apache-2.0
#include "agent/trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/trace/trace_state.h"
#include "base/clock.h"

// How long the tracer sleeps at most between polls of its threads.
enum { LOOK_EVERY_MS = 20 };

// trace_handle handles one stop of thread tid and resumes it, or holds its process.
static enum trace_next trace_handle(struct trace *trace, pid_t tid, int status)
{
    int signal = WSTOPSIG(status);
    if (status >> 16 != 0)
        trace_pair_end(trace, tid, trace_is_job_stop(signal) ? 0 : status >> 16);
    switch (status >> 16) {
    case 0:
        return trace_signal_stop(trace, tid, signal);
    case PTRACE_EVENT_EXIT:
        return trace_exit_stop(trace, tid);
    case PTRACE_EVENT_EXEC:
        trace_exec_stop(trace, tid);
        break;
    case PTRACE_EVENT_STOP:
        // The process must stay stopped, but remain able to be continued.
        if (trace_is_job_stop(signal)) {
            (void)ptrace(PTRACE_LISTEN, tid, NULL, NULL);
            return TRACE_GO_ON;
        }
        break;
    default: // a new thread or child, which reports a stop of its own
        break;
    }
    trace_continue(tid, 0);
    return TRACE_GO_ON;
}

// trace_look polls the threads of the traced program for the next state. It leaves out
// the main process's end, which must remain for its parent to wait for.
static pid_t trace_look(struct trace *trace, int *out_status)
{
    for (size_t i = 0; i < trace->hold_count; i++) {
        pid_t pid = waitpid(trace->holds[i].reporter, out_status, WNOHANG | WUNTRACED);
        if (pid > 0)
            return pid;
    }
    for (size_t word = 0; word < TRACE_TIDS / 64; word++) {
        for (uint64_t bits = trace->tids[word]; bits != 0; bits &= bits - 1) {
            pid_t tid = (pid_t)(word * 64) + __builtin_ctzll(bits);
            if (tid != trace->root && waitpid(tid, out_status, WNOHANG | __WALL) > 0)
                return tid;
        }
    }
    return 0;
}

// trace_wait_around_root waits while the program has ended and its reports are being
// finished. Until we reap it, its parent is not notified and thus waits for the
// reports. At the deadline it is reaped regardless.
static pid_t trace_wait_around_root(struct trace *trace, int *out_status)
{
    const struct timespec pause = { .tv_nsec = LOOK_EVERY_MS * 1000000L };
    uint64_t deadline = trace->root_ended_ms + trace->settings->timeout_ms;
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    while (trace->hold_count != 0 && clock_now_ms(CLOCK_MONOTONIC) < deadline) {
        pid_t pid = trace_look(trace, out_status);
        if (pid != 0)
            return pid;
        (void)sigtimedwait(&child, NULL, &pause);
    }
    trace->root_ended = false;
    return waitpid(trace->root, out_status, __WALL);
}

// trace_wait waits for the next state of any thread or reporter. -1: there are none.
static pid_t trace_wait(struct trace *trace, int *out_status)
{
    siginfo_t next;
    if (trace->seen_count != 0) {
        const struct trace_seen *seen = &trace->seen[--trace->seen_count];
        *out_status = seen->status;
        return seen->tid;
    }
    if (trace->hold_count != 0 && !trace->root_ended) {
        next.si_pid = 0;
        if (waitid(P_ALL, 0, &next, WEXITED | WSTOPPED | WNOWAIT | __WALL) != 0)
            return -1;
        if (next.si_pid == trace->root && next.si_code != CLD_TRAPPED &&
            next.si_code != CLD_STOPPED) {
            trace_hear_of_stops(true);
            trace->root_ended = true;
            trace->root_ended_ms = clock_now_ms(CLOCK_MONOTONIC);
        }
    }
    if (trace->root_ended)
        return trace_wait_around_root(trace, out_status);
    return waitpid(-1, out_status, __WALL | WUNTRACED);
}

// trace_reporter_state handles a state change of a process that makes a report: it has
// stopped, which means that the report is written, or it has ended.
static enum trace_next trace_reporter_state(struct trace *trace,
                                            struct trace_hold *hold, int status)
{
    bool retried;
    if (trace_hold_retry(trace, hold, status, &retried) == TRACE_REPORT)
        return TRACE_REPORT;
    if (retried)
        return TRACE_GO_ON;
    if (hold->held && !WIFSTOPPED(status) && !hold->written)
        trace_say(
            hold->tid, &trace->standard_error,
            "crashhook: a crash of process %d is not reported: what made the report "
            "ended\n",
            hold->stop.pid);
    hold->written = hold->written || WIFSTOPPED(status);
    // With the first process of our namespace the kernel ends us and the reporter.
    if (hold->held && !(hold->first && WIFSTOPPED(status)))
        trace_hold_release(trace, hold);
    if (WIFSTOPPED(status))
        (void)kill(hold->reporter, SIGCONT);
    else
        trace_hold_forget(trace, hold);
    return TRACE_GO_ON;
}

static enum trace_next trace_attend(struct trace *trace, pid_t pid, int status)
{
    struct trace_hold *hold =
        trace->hold_count != 0 ? trace_hold_of_reporter(trace, pid) : NULL;
    if (hold != NULL)
        return trace_reporter_state(trace, hold, status);
    trace_note_thread(trace, pid, WIFSTOPPED(status));
    struct trace_reported_process *ended =
        WIFSTOPPED(status) ? NULL : trace_hold_reported(trace, pid);
    if (ended != NULL)
        ended->pid = 0; // the number comes again
    if (!WIFSTOPPED(status) ||
        (trace->hold_count != 0 && trace_hold_late(trace, pid, status)))
        return TRACE_GO_ON;
    return trace_handle(trace, pid, status);
}

// trace_attach sends the program's process our pid, so that it can allow us to trace it
// where Yama requires that, waits for its answer, and traces it.
static bool trace_attach(pid_t pid, int channel)
{
    int words[2] = { getpid(), 0 };
    char ready;
    const long options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                         PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT;
    if (write(channel, &words[0], sizeof(words[0])) != sizeof(words[0]) ||
        read(channel, &ready, 1) != 1)
        return false;
    if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)options) != 0)
        words[1] = errno;
    (void)!write(channel, &words[1], sizeof(words[1]));
    close(channel);
    return words[1] == 0;
}

// trace_drop_inherited drops everything inherited from the program's start: standard
// error, working directory, signal dispositions.
static void trace_drop_inherited(struct trace *trace)
{
    // A service manager sends SIGTERM to all processes of a service; the tracer must
    // outlive them.
    static const int ignored[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE };
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigset_t child;
    if (fstat(STDERR_FILENO, &trace->standard_error) != 0)
        trace->standard_error.st_ino = 0;
    if (null >= 0) {
        (void)dup2(null, STDERR_FILENO);
        close(null);
    }
    (void)!chdir("/");
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        (void)signal(ignored[i], SIG_IGN);
    trace_hear_of_stops(false);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    (void)sigprocmask(SIG_SETMASK, &child, NULL);
}

void trace_serve(pid_t pid, int channel, const struct settings *settings,
                 struct trace_report *out)
{
    static struct trace trace; // all zero, so that it is in .bss and not in the file
    int status;
    trace.settings = settings;
    trace.root = pid;
    trace.out = out;
    trace.keeps_privileges = trace_keeps_privileges();
    trace_drop_inherited(&trace);
    if (!trace_attach(pid, channel))
        exit(1);
    trace_note_thread(&trace, pid, true);
    trace_termination_begin(&trace);
    for (;;) {
        pid_t next = trace_wait(&trace, &status);
        int error = errno;
        trace_termination_look(&trace);
        trace_hold_expire(&trace);
        if (next < 0 && error == EINTR) {
            trace_pair_look(&trace);
            continue;
        }
        if (next < 0)
            exit(0);
        if (trace_attend(&trace, next, status) == TRACE_REPORT)
            return;
    }
}

void trace_reported(void)
{
    (void)raise(SIGSTOP);
}
