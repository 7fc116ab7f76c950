// SPDX-License-Identifier: Apache-2.0
//
// A process that is held for its report. All its threads are in a ptrace stop, where
// nothing but SIGKILL reaches them, and a child of ours reads it: the process may be
// corrupt or hostile, and the tracer must survive reading it. The child stops itself
// when the report is written, and continues as `crashhook finish`.
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/live/stop_registers.h"
#include "agent/trace/trace_state.h"
#include "base/array.h"
#include "base/clock.h"

enum {
    // While a process is being stopped, the tracer serves no other.
    TRACE_STOP_BUDGET_MS = 250,
    // The memory of a process that was killed is wanted elsewhere.
    TRACE_KILLED_HELD_MS = 1000,
    // How long a process may take to die of the signal that its thread gets.
    TRACE_DEATH_MS = 1000,
};

struct trace_hold *trace_hold_of_reporter(struct trace *trace, pid_t pid)
{
    for (size_t i = 0; i < trace->hold_count; i++) {
        if (trace->holds[i].reporter == pid)
            return &trace->holds[i];
    }
    return NULL;
}

bool trace_hold_late(struct trace *trace, pid_t tid, int status)
{
    for (size_t i = 0; i < trace->hold_count; i++) {
        struct stop *stop = &trace->holds[i].stop;
        for (size_t t = 0; trace->holds[i].held && t < stop->count; t++) {
            if (stop->threads[t].tid != tid || stop->threads[t].state != STOP_ASKED)
                continue;
            stop->threads[t].state = STOP_STOPPED;
            stop->threads[t].wait_status = status;
            return true;
        }
    }
    return false;
}

// find_first_caught is the signal whose handler was running when the process was ended
// by a raised signal: in the ended thread, otherwise in another. NULL: none was.
static const struct trace_caught *
find_first_caught(struct trace *trace, const struct trace_crash *crash,
                  const struct stopped_thread *crashed, const struct stop *stop)
{
    const struct trace_caught *first = trace_caught_open(trace, crashed);
    // SIGKILL is not seen with a sender, and is a crash only if the process sent it.
    bool raised = crash->only_first || crash->info.si_signo == SIGKILL ||
                  (crash->info.si_code <= 0 && crash->info.si_pid == crash->own_number);
    for (size_t i = 0; first == NULL && raised && i < stop->count; i++) {
        if (stop->threads[i].state == STOP_STOPPED)
            first = trace_caught_open(trace, &stop->threads[i]);
    }
    return first;
}

void trace_fill_request(struct agent_request *out, pid_t process,
                        const struct stopped_thread *thread, const siginfo_t *info)
{
    *out = (struct agent_request){
        .pid = process,
        .crash = { .tid = thread->tid,
                   .info = *info,
                   .realtime_ns = clock_now_ns(CLOCK_REALTIME),
                   .monotonic_ns = clock_now_ns(CLOCK_MONOTONIC),
                   .registers = thread->registers,
                   .flags = thread->flags,
                   .fault_trap = target_crash_guess_trap(info),
                   .thread_pointer = thread->thread_pointer,
                   .gs_base = thread->gs_base,
                   .shadow_stack = thread->shadow_stack,
                   .narrow = thread->narrow,
                   .dies = true },
    };
    if (unwind_arch_native()->id == UNWIND_ARCH_AARCH64)
        out->crash.has_memory_tag =
            target_crash_untag(&out->crash.info) &&
            stop_registers_tag(thread->tid, out->crash.info.si_addr,
                               &out->crash.memory_tag);
}

// note_crash_end records what the handler that received first did. crashed is the
// thread that the process ends by.
static void note_crash_end(struct target_crash *out, const struct trace_crash *crash,
                           const struct stopped_thread *crashed,
                           const struct trace_caught *first)
{
    out->exits = crash->exits;
    out->exit_status = crash->exit_status;
    // The same fault, or SI_KERNEL in its place where the handler could not be called;
    // or an exit by the same signal, of which nothing more is known.
    bool there = crash->signal == 0 || (crash->info.si_code > 0 && first != NULL &&
                                        trace_caught_is_there(first, crashed));
    bool again = first != NULL && first->info.si_signo == crash->info.si_signo && there;
    if (first != NULL && !crash->exits && !again)
        out->then = crash->info;
}

// free_thread gives the thread that the report says crashed the state STOP_FREE, as
// after a handler's crash: the report takes its registers from the request.
static void free_thread(struct stop *stop, const struct stopped_thread *crashed,
                        pid_t tid)
{
    for (size_t i = 0; tid != crashed->tid && i < stop->count; i++) {
        struct stopped_thread *thread = &stop->threads[i];
        if (thread->tid == crashed->tid) {
            *thread = *crashed;
            thread->state = STOP_STOPPED;
        }
        if (thread->tid == tid)
            thread->state = STOP_FREE;
    }
}

static bool tracer_is_terminal(int fd)
{
    return isatty(fd) != 0;
}

// take_standard_files puts those standard files of process pid that the report is
// printed on in place of the tracer's.
static void take_standard_files(pid_t pid, const struct settings *settings)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool taken[STDERR_FILENO + 1] = { false };
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        int theirs = trace_standard_file(pid, fd);
        taken[fd] = theirs >= 0 && dup2(theirs, fd) == fd;
        if (theirs >= 0)
            close(theirs);
    }
    uint32_t kept = settings_kept_files(settings, tracer_is_terminal);
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO && null >= 0; fd++) {
        if (!taken[fd] || (kept & UINT32_C(1) << fd) == 0)
            (void)dup2(null, fd);
    }
    if (null >= 0)
        close(null);
}

// become_reporter sets up the new process, which is no tracer and has default signal
// dispositions.
static void become_reporter(struct trace *trace, struct trace_hold *hold)
{
    struct trace_report *out = trace->out;
    sigset_t none;
    for (int number = 1; number < 32; number++)
        (void)signal(number, SIG_DFL);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    // If the tracer dies, no process would continue this one.
    (void)prctl(PR_SET_PDEATHSIG, SIGCONT);
    out->stop = hold->stop;
    out->standard_error = trace->standard_error;
    take_standard_files(out->stop.pid, trace->settings);
}

static int open_memory(pid_t tid)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/mem", tid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

struct trace_reported_process *trace_hold_reported(struct trace *trace, pid_t process)
{
    for (size_t i = 0; i < TRACE_REPORTED; i++) {
        if (trace->reported[i].pid == process)
            return &trace->reported[i];
    }
    return NULL;
}

static void note_reported(struct trace *trace, const struct trace_crash *crash)
{
    trace->reported[trace->reported_count++ % TRACE_REPORTED] =
        (struct trace_reported_process){ crash->process, crash->dies };
}

// report_in_child forks the child that reports; it returns TRACE_REPORT in the child.
// In the parent, hold->reporter is negative if fork failed.
static enum trace_next report_in_child(struct trace *trace, struct trace_hold *hold,
                                       const struct stopped_thread *crashed)
{
    struct trace_report *out = trace->out;
    out->memory_fd = open_memory(crashed->tid);
    hold->reporter = fork();
    if (hold->reporter == 0) {
        free_thread(&hold->stop, crashed, out->request.crash.tid);
        become_reporter(trace, hold);
        return TRACE_REPORT;
    }
    if (out->memory_fd >= 0)
        close(out->memory_fd);
    return TRACE_GO_ON;
}

enum trace_next trace_hold_retry(struct trace *trace, struct trace_hold *hold,
                                 int status, bool *out_retried)
{
    *out_retried = false;
    if (!hold->held || hold->until_ms != 0 || hold->request.careful ||
        !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        return TRACE_GO_ON;
    hold->request.careful = true;
    trace->out->request = hold->request;
    trace->out->killed = false;
    const struct stopped_thread crashed = hold->crashed;
    enum trace_next next = report_in_child(trace, hold, &crashed);
    *out_retried = hold->reporter > 0;
    return next;
}

// is_killed_by_own returns true if a handler that runs in one of the stopped threads
// has sent the SIGKILL. Its threads come out in any order, so the first may be another.
static bool is_killed_by_own(struct trace *trace, const struct stop *stop)
{
    for (size_t i = 0; i < stop->count; i++) {
        const struct stopped_thread *thread = &stop->threads[i];
        if (thread->state == STOP_STOPPED && trace_is_sending(thread) &&
            trace_caught_open(trace, thread) != NULL)
            return true;
    }
    return false;
}

enum trace_next trace_hold_begin(struct trace *trace, const struct trace_crash *given)
{
    struct trace_crash own = *given;
    const struct trace_crash *crash = &own;
    struct stopped_thread crashed = { .tid = crash->tid };
    struct trace_hold hold = {
        .tid = crash->tid,
        .signal = crash->signal,
        .held = true,
        .dies = crash->dies,
        .first = crash->own_number == 1 && !crash->killed,
    };
    if (!array_reserve(&trace->holds, &trace->hold_capacity, trace->hold_count,
                       sizeof(trace->holds[0])) ||
        !stop_registers_read(&crashed)) {
        trace_continue(crash->tid, crash->signal);
        return TRACE_GO_ON;
    }
    // This fails where the process has no other thread to stop.
    (void)!stop_traced(&hold.stop, crash->process, crash->tid, TRACE_STOP_BUDGET_MS);
    trace_hear_of_stops(trace->root_ended);
    // What the handler was called for is the crash then.
    own.killed = own.killed && !is_killed_by_own(trace, &hold.stop);
    if (crash->killed)
        hold.until_ms = clock_now_ms(CLOCK_MONOTONIC) + TRACE_KILLED_HELD_MS;
    const struct trace_caught *first =
        crash->killed ? NULL : find_first_caught(trace, crash, &crashed, &hold.stop);
    if (first == NULL && crash->only_first) {
        trace_hold_release(trace, &hold);
        return TRACE_GO_ON;
    }
    note_reported(trace, crash);
    trace_fill_request(&trace->out->request, crash->process,
                       first != NULL ? &first->thread : &crashed,
                       first != NULL ? &first->info : &crash->info);
    if (first == NULL)
        trace->out->request.crash.has_vectors =
            stop_registers_vectors(crashed.tid, trace->out->request.crash.vectors);
    note_crash_end(&trace->out->request.crash, crash, &crashed, first);
    trace->out->killed = crash->killed;
    trace->out->request.crash.signal_only = crash->killed;
    hold.request = trace->out->request;
    hold.crashed = crashed;
    if (report_in_child(trace, &hold, &crashed) == TRACE_REPORT)
        return TRACE_REPORT;
    if (hold.reporter < 0)
        trace_hold_release(trace, &hold);
    else
        trace->holds[trace->hold_count++] = hold;
    return TRACE_GO_ON;
}

// trace_note_seen leaves a stop to the loop in trace.c. Where there is no memory for
// it, the thread goes on with its signal.
static void trace_note_seen(struct trace *trace, const struct stopped_thread *thread)
{
    int status = thread->wait_status;
    if (!array_reserve(&trace->seen, &trace->seen_capacity, trace->seen_count,
                       sizeof(trace->seen[0]))) {
        trace_continue(thread->tid, status >> 16 == 0 ? WSTOPSIG(status) : 0);
        return;
    }
    trace->seen[trace->seen_count++] = (struct trace_seen){ thread->tid, status };
}

// let_thread_die delivers the signal. To the first process of a PID namespace that has
// no effect while it is traced, and the fault would recur for ever: once detached, the
// thread executes the faulting instruction again and dies of it.
static void let_thread_die(const struct trace_hold *hold)
{
    if (hold->first && hold->signal != 0)
        (void)ptrace(PTRACE_DETACH, hold->tid, NULL, (void *)(intptr_t)hold->signal);
    else
        trace_continue(hold->tid, hold->signal);
}

// free_others has the stops of the other threads handled, as far as they exit or the
// process may go on. A thread in an exit stop is to exit, whatever becomes of the rest.
static void free_others(struct trace *trace, struct trace_hold *hold, bool exits_only)
{
    for (size_t i = hold->stop.count; i-- > 0;) { // so that the first is handled first
        struct stopped_thread *thread = &hold->stop.threads[i];
        bool exits = thread->wait_status >> 16 == PTRACE_EVENT_EXIT;
        if (thread->state != STOP_STOPPED || (exits_only && !exits))
            continue;
        trace_note_seen(trace, thread);
        thread->state = STOP_FREE;
    }
    if (!exits_only)
        stop_deinit(&hold->stop);
}

void trace_hold_release(struct trace *trace, struct trace_hold *hold)
{
    let_thread_die(hold);
    // While the signal is on its way, another thread might end the process differently.
    bool listed = hold->reporter > 0;
    free_others(trace, hold, hold->dies && listed);
    hold->held = false;
    hold->until_ms = clock_now_ms(CLOCK_MONOTONIC) + TRACE_DEATH_MS;
}

void trace_hold_expire(struct trace *trace)
{
    for (size_t i = 0; i < trace->hold_count; i++) {
        struct trace_hold *hold = &trace->holds[i];
        if (hold->until_ms == 0 || clock_now_ms(CLOCK_MONOTONIC) < hold->until_ms)
            continue;
        if (hold->held)
            trace_hold_release(trace, hold);
        else
            free_others(trace, hold, false);
    }
}

void trace_hold_forget(struct trace *trace, struct trace_hold *hold)
{
    free_others(trace, hold, false);
    *hold = trace->holds[--trace->hold_count];
}
