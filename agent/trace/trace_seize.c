// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/live/stop_registers.h"
#include "agent/trace/trace.h"
#include "agent/trace/trace_state.h"
#include "base/clock.h"

bool trace_seize_begin(pid_t pid)
{
    const long options = PTRACE_O_TRACEEXIT;
    return ptrace(PTRACE_SEIZE, pid, NULL, (void *)options) == 0;
}

static void seize_detach(pid_t pid, int signal)
{
    (void)ptrace(PTRACE_DETACH, pid, NULL, (void *)(intptr_t)signal);
}

// seize_note_signal passes a signal on and notes its sender.
static void seize_note_signal(struct keep *keep, int signal)
{
    siginfo_t info;
    pid_t pid = keep->usage.pid;
    if (ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) == 0)
        (void)keep_asked(keep, signal, &info);
    trace_pass_on(pid, signal);
}

// seize_at_exit decides about a thread that exits: alone, or with its process.
static enum trace_seize seize_at_exit(pid_t pid, int *out_signal)
{
    unsigned long status = 0;
    if (ptrace(PTRACE_GETEVENTMSG, pid, NULL, &status) != 0)
        return SEIZE_FREE; // it has exited
    *out_signal = (int)(status & 0x7f);
    if (termination_is_kill(*out_signal))
        return SEIZE_DIES;
    seize_detach(pid, 0);
    return SEIZE_FREE;
}

// seize_at_stop handles a stop; SEIZE_RUNS: the thread goes on.
static enum trace_seize seize_at_stop(struct keep *keep, int status, int *out_signal)
{
    pid_t pid = keep->usage.pid;
    int signal = WSTOPSIG(status);
    switch (status >> 16) {
    case PTRACE_EVENT_EXIT:
        return seize_at_exit(pid, out_signal);
    case PTRACE_EVENT_STOP:
        // The process must stay stopped, but remain able to be continued.
        if (trace_is_job_stop(signal))
            (void)ptrace(PTRACE_LISTEN, pid, NULL, NULL);
        else
            trace_continue(pid, 0);
        break;
    case 0:
        seize_note_signal(keep, signal);
        break;
    default:
        trace_continue(pid, 0);
        break;
    }
    return SEIZE_RUNS;
}

enum trace_seize trace_seize_look(struct keep *keep, int *out_signal)
{
    int status;
    pid_t found;
    *out_signal = 0;
    while ((found = waitpid(keep->usage.pid, &status, WNOHANG | __WALL)) > 0) {
        if (!WIFSTOPPED(status)) {
            *out_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
            return SEIZE_FREE;
        }
        enum trace_seize now = seize_at_stop(keep, status, out_signal);
        if (now != SEIZE_RUNS)
            return now;
    }
    return found == 0 ? SEIZE_RUNS : SEIZE_FREE;
}

// list_dying is the list of threads: all but the first may have exited.
static bool list_dying(pid_t pid, struct stop *out)
{
    *out = (struct stop){ .pid = pid, .traced = true };
    out->threads = calloc(1, sizeof(*out->threads));
    if (out->threads == NULL)
        return false;
    out->count = out->capacity = 1;
    out->threads[0] =
        (struct stopped_thread){ .tid = pid, .state = STOP_FREE, .run_state = 'R' };
    return true;
}

// become_seize_reporter sets up the new process, which is no tracer.
static void become_seize_reporter(void)
{
    sigset_t none;
    for (int number = 1; number < 32; number++)
        (void)signal(number, SIG_DFL);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGCONT); // no other process would continue it
}

static bool fill_dying(pid_t pid, const struct termination *termination,
                       struct trace_report *out)
{
    char path[32];
    struct stopped_thread thread = { .tid = pid };
    const siginfo_t info = { .si_signo = termination->signal };
    *out = (struct trace_report){ .killed = true,
                                  .termination = *termination,
                                  .memory_fd = -1,
                                  .context = out->context };
    if (!stop_registers_read(&thread) || !list_dying(pid, &out->stop))
        return false;
    trace_fill_request(&out->request, pid, &thread, &info);
    out->request.crash.has_vectors =
        stop_registers_vectors(pid, out->request.crash.vectors);
    out->request.crash.signal_only = true;
    (void)snprintf(path, sizeof(path), "/proc/%d/mem", pid);
    out->memory_fd = open(path, O_RDONLY | O_CLOEXEC);
    return true;
}

// await_written waits until the reporter stops, which it does when the report is
// written. False: it is not, and the reporter has ended. In a cgroup that is full it
// gets no memory before the process that is held frees its own, so it is not waited for
// longer.
static bool await_written(pid_t reporter)
{
    enum { HELD_MS = 1000 };
    uint64_t deadline = clock_now_ms(CLOCK_MONOTONIC) + HELD_MS;
    const struct timespec pause = { .tv_nsec = 20000000 };
    int status = 0;
    pid_t found;
    sigset_t child;
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    while ((found = waitpid(reporter, &status, WUNTRACED | WNOHANG)) == 0 &&
           clock_now_ms(CLOCK_MONOTONIC) < deadline)
        (void)sigtimedwait(&child, NULL, &pause);
    if (found == 0)
        (void)kill(reporter, SIGKILL);
    return found == reporter && WIFSTOPPED(status);
}

bool trace_seize_report(pid_t pid, const struct termination *termination,
                        struct trace_report *out, bool *out_written)
{
    *out_written = false;
    pid_t reporter = fill_dying(pid, termination, out) ? fork() : -1;
    if (reporter == 0) {
        become_seize_reporter();
        return true;
    }
    if (reporter > 0)
        *out_written = await_written(reporter);
    seize_detach(pid, 0);
    if (*out_written)
        (void)kill(reporter, SIGCONT);
    if (out->memory_fd >= 0)
        (void)close(out->memory_fd);
    stop_deinit(&out->stop);
    return false;
}

void trace_seize_end(pid_t pid)
{
    // A thread in uninterruptible sleep does not stop; it is then left as it is.
    enum { STOP_MS = 100 };
    const struct timespec pause = { .tv_nsec = 1000000 };
    uint64_t deadline = clock_now_ms(CLOCK_MONOTONIC) + STOP_MS;
    int status = 0;
    pid_t found = 0;
    if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) != 0)
        return;
    while ((found = waitpid(pid, &status, WNOHANG | __WALL)) == 0 &&
           clock_now_ms(CLOCK_MONOTONIC) < deadline)
        (void)nanosleep(&pause, NULL);
    if (found == pid && WIFSTOPPED(status))
        seize_detach(pid, status >> 16 == 0 ? WSTOPSIG(status) : 0);
}
