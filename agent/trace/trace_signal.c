// SPDX-License-Identifier: Apache-2.0
//
// The decision about a signal that a traced thread is about to receive. A tracer also
// sees ignored signals, for which the kernel has then interrupted a system call; such a
// call is restarted, as if no signal had come.
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/live/stop_registers.h"
#include "agent/trace/trace_state.h"
#include "images/read_file.h"
#include "shared/signals.h"

enum {
    STATUS_LIMIT_BYTES = 16 << 10,
    BY_SECCOMP = 1, // SYS_SECCOMP, which not every libc defines
};

// A trace_dispositions is what /proc/PID/status says of a thread and of its process's
// signals.
struct trace_dispositions {
    pid_t process;
    pid_t own_number; // of the process, in its own PID namespace
    uint64_t ignored; // bit N - 1 is signal N
    uint64_t caught;
    bool first; // it is the first process of a PID namespace
};

static uint64_t thread_status_value(const char *status, const char *name, int base)
{
    const char *line = strstr(status, name);
    return line != NULL ? strtoull(line + strlen(name), NULL, base) : 0;
}

// read_own_number reads the last number of the line NStgid, the process's in its
// innermost PID namespace. A process in our namespace has only one.
static void read_own_number(const char *status, struct trace_dispositions *out)
{
    static const char name[] = "\nNStgid:";
    const char *line = strstr(status, name);
    char *end = NULL;
    if (line == NULL)
        return;
    for (line += strlen(name); *line == '\t'; line = end)
        out->own_number = (pid_t)strtol(line, &end, 10);
}

static void read_dispositions(pid_t tid, struct trace_dispositions *out)
{
    struct text status = { 0 };
    *out = (struct trace_dispositions){ .process = tid };
    if (read_process_file(tid, "status", STATUS_LIMIT_BYTES, &status) == CH_OK) {
        out->process = (pid_t)thread_status_value(status.bytes, "\nTgid:", 10);
        out->own_number = out->process;
        out->ignored = thread_status_value(status.bytes, "\nSigIgn:", 16);
        out->caught = thread_status_value(status.bytes, "\nSigCgt:", 16);
        read_own_number(status.bytes, out);
        out->first = out->own_number == 1;
    }
    text_deinit(&status);
}

static bool signal_mask_has(uint64_t set, int signal)
{
    return set >> (signal - 1) & 1;
}

// ignored_by_default returns true if the signal's default action is to ignore it.
static bool ignored_by_default(int signal)
{
    return signal == SIGCHLD || signal == SIGCONT || signal == SIGURG ||
           signal == SIGWINCH;
}

static void pass_signal_on(pid_t tid, int signal, struct trace_dispositions *known)
{
    struct stopped_thread thread = { .tid = tid };
    if (stop_registers_interrupted(tid) && stop_registers_read(&thread) &&
        thread.restart) {
        struct trace_dispositions now;
        if (known == NULL) {
            read_dispositions(tid, &now);
            known = &now;
        }
        if (signal_mask_has(known->ignored, signal) ||
            (ignored_by_default(signal) && !signal_mask_has(known->caught, signal)))
            stop_registers_restart(&thread);
    }
    trace_continue(tid, signal);
}

void trace_pass_on(pid_t tid, int signal)
{
    pass_signal_on(tid, signal, NULL);
}

// may_be_own_end returns true if the signal, which is not a crash signal, may be how a
// handler of the process ends it: it is deadly, and comes from the process itself or,
// as alarm's does, from the kernel.
static bool may_be_own_end(const struct trace *trace, pid_t tid, int signal,
                           struct trace_crash *out)
{
    struct trace_dispositions now;
    const siginfo_t *info = &out->info;
    if (!trace->caught_any || ignored_by_default(signal) || trace_is_job_stop(signal) ||
        ptrace(PTRACE_GETSIGINFO, tid, NULL, &out->info) != 0)
        return false;
    bool timer = info->si_code > 0 || info->si_code == SI_TIMER;
    read_dispositions(tid, &now);
    out->process = now.process;
    out->own_number = now.own_number;
    out->only_first = true;
    return !signal_mask_has(now.ignored | now.caught, signal) && !now.first &&
           (timer || info->si_pid == now.own_number);
}

static void note_asked(struct trace *trace, pid_t tid, int signal)
{
    struct trace_dispositions now;
    siginfo_t info;
    read_dispositions(tid, &now);
    if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) == 0)
        trace_termination_asked(trace, now.process, signal, &info);
}

// pass_refused passes on a signal that was merely sent to the first process of a PID
// namespace, on which it has no effect. abort then ends the process by an instruction
// that faults.
static void pass_refused(struct trace *trace, const struct trace_crash *crash,
                         struct trace_dispositions *now)
{
    if (crash->signal == SIGABRT && crash->info.si_pid == now->own_number) {
        trace->refused_tid = crash->tid;
        trace->refused_abort = crash->info;
    }
    pass_signal_on(crash->tid, crash->signal, now);
}

// crash_signal_stop handles thread being about to receive a crash signal.
static enum trace_next crash_signal_stop(struct trace *trace,
                                         const struct stopped_thread *thread,
                                         struct trace_crash *crash)
{
    struct trace_dispositions now;
    read_dispositions(crash->tid, &now);
    if (signal_mask_has(now.caught, crash->signal)) {
        trace_caught_note(trace, thread, &crash->info);
        trace_continue(crash->tid, crash->signal);
        return TRACE_GO_ON;
    }
    const struct trace_reported_process *reported =
        trace_hold_reported(trace, now.process);
    if (signal_mask_has(now.ignored, crash->signal) ||
        (reported != NULL && reported->dies)) {
        pass_signal_on(crash->tid, crash->signal, &now);
        return TRACE_GO_ON;
    }
    if (now.first && crash->info.si_code <= 0) {
        pass_refused(trace, crash, &now);
        return TRACE_GO_ON;
    }
    // The last instruction of abort, which no program may execute.
    bool is_end_of_abort = crash->tid == trace->refused_tid &&
                           crash->signal == SIGSEGV && crash->info.si_code == SI_KERNEL;
    if (now.first && is_end_of_abort)
        crash->info = trace->refused_abort;
    crash->process = now.process;
    crash->own_number = now.own_number;
    return trace_hold_begin(trace, crash);
}

enum trace_next trace_signal_stop(struct trace *trace, pid_t tid, int signal)
{
    struct stopped_thread thread = { .tid = tid };
    struct trace_crash crash = { .tid = tid, .signal = signal, .dies = true };
    // A handler may fault until its stack is full. Of thousands of such faults neither
    // the siginfo is read nor, in /proc, whether the handler is still in force. If it
    // is not, the process ends by this signal, and its exit is seen (fill_exit).
    if (trace_pair_skips(trace, tid, signal)) {
        trace_continue(tid, signal);
        return TRACE_GO_ON;
    }
    bool crash_signal = signal_in(trace->settings->signals, signal);
    bool readable = crash_signal && stop_registers_read(&thread);
    if (readable && trace_caught_repeats(trace, &thread, signal)) {
        trace_continue(tid, signal);
        return TRACE_GO_ON;
    }
    trace_pair_end(trace, tid, 0);
    if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP ||
        signal == SIGQUIT || signal == SIGABRT)
        note_asked(trace, tid, signal);
    if (!crash_signal) {
        if (may_be_own_end(trace, tid, signal, &crash))
            return trace_hold_begin(trace, &crash);
        pass_signal_on(tid, signal, NULL);
        return TRACE_GO_ON;
    }
    if (!readable || ptrace(PTRACE_GETSIGINFO, tid, NULL, &crash.info) != 0) {
        trace_continue(tid, signal);
        return TRACE_GO_ON;
    }
    return crash_signal_stop(trace, &thread, &crash);
}

// is_killed_by_filter returns true if a seccomp filter killed the thread. That happens
// without a visible signal: the process, or the thread, exits as if by SIGSYS.
static bool is_killed_by_filter(const struct trace *trace,
                                const struct stopped_thread *thread, unsigned status)
{
    return (status & 0x7f) == SIGSYS && signal_in(trace->settings->signals, SIGSYS) &&
           stop_registers_is_filtered(thread);
}

// fill_exit describes what thread dies of, if that is a crash: a seccomp filter's kill,
// SIGKILL that its own handler has sent, which is seen here alone, a fault of its
// handler that was not looked at (trace_signal_stop), or an exit from a handler with a
// non-zero status.
static bool fill_exit(struct trace *trace, const struct stopped_thread *thread,
                      unsigned status, struct trace_crash *out)
{
    const struct trace_caught *caught = NULL;
    if (is_killed_by_filter(trace, thread, status)) {
        uint64_t pc = thread->registers.value[unwind_arch_native()->pc];
        out->info.si_signo = SIGSYS;
        out->info.si_code = BY_SECCOMP;
        out->info.si_syscall = (int)stop_registers_last_call(thread);
        out->info.si_call_addr = (void *)(uintptr_t)pc;
        return true;
    }
    int signal = (int)(status & 0x7f);
    bool fault = signal_in(trace->settings->signals, signal);
    bool killed = signal == SIGKILL && trace_is_sending(thread);
    if (killed || fault || (signal == 0 && status >> 8 != 0))
        caught = trace_caught_open(trace, thread);
    bool unread = fault && trace->pair.unread_tid == thread->tid;
    if (caught == NULL && !unread)
        return false;
    if (caught == NULL || signal != 0) {
        out->info.si_signo = signal;
        return true;
    }
    out->info = caught->info;
    out->exits = true;
    out->exit_status = (int)(status >> 8 & 0xff);
    return true;
}

// let_exit resumes a thread that exits. Unless it is the first of its process it is
// detached, so that the kernel removes it at once, as it does alone: a thread that has
// joined it may look at how many there are.
static void let_exit(struct trace *trace, pid_t tid)
{
    bool first = syscall(SYS_tgkill, tid, tid, 0) == 0 || errno != ESRCH;
    if (first || ptrace(PTRACE_DETACH, tid, NULL, NULL) != 0)
        trace_continue(tid, 0);
    else
        trace_note_thread(trace, tid, false);
}

enum trace_next trace_exit_stop(struct trace *trace, pid_t tid)
{
    unsigned long status = 0;
    struct stopped_thread thread = { .tid = tid };
    struct trace_dispositions now;
    struct trace_crash crash = { .tid = tid };
    if (ptrace(PTRACE_GETEVENTMSG, tid, NULL, &status) != 0 || status == 0 ||
        !stop_registers_read(&thread)) {
        let_exit(trace, tid);
        return TRACE_GO_ON;
    }
    bool killed = !fill_exit(trace, &thread, (unsigned)status, &crash);
    read_dispositions(tid, &now);
    if (trace_hold_reported(trace, now.process) != NULL ||
        (killed &&
         !trace_termination_fill(trace, now.process, (int)status & 0x7f, &crash))) {
        trace_continue(tid, 0);
        return TRACE_GO_ON;
    }
    crash.process = now.process;
    crash.own_number = now.own_number;
    return trace_hold_begin(trace, &crash);
}
