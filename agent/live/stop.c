// SPDX-License-Identifier: Apache-2.0
//
// How it works (stop_all):
// 1. Seize every thread of the process (PTRACE_SEIZE, then PTRACE_INTERRUPT).
//    seize_guessed tries consecutive ids, which is cheaper than listing; otherwise
//    seize_listed.
// 2. collect_stops waits for each thread; note_stop reads its registers.
// 3. If missed_some finds that a thread was created meanwhile, by one that was not
//    stopped yet, list and seize again, at most MAX_LISTINGS times.
// 4. mark_stuck marks threads that have not stopped by the deadline; the report says
//    so.
//
// States of a thread: STOP_ASKED (seized) -> STOP_STOPPED or STOP_GONE. STOP_REFUSED:
// it cannot be traced, and stays in the list so that it is not tried again. STOP_FREE:
// the crashing thread, which is never seized, because it enforces the deadline.
//
// stop_release resumes the threads; stop_await_termination reaps those that then exit.
//
// A thread that executes another program waits until all others are reaped, so nothing
// here may wait for one thread without reaping the others (reap_exited, collect_after).
#include "agent/live/stop.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/live/permitted.h"
#include "agent/live/stop_registers.h"
#include "base/array.h"
#include "base/clock.h"
#include "images/read_file.h"

// Threads that appear while others are being seized are found by listing again. A
// process that keeps creating them is stopped as far as this many listings reach.
enum { MAX_LISTINGS = 64, STATUS_LIMIT_BYTES = 16 << 10, REAP_EVERY_MS = 20 };

static bool stop_knows(const struct stop *stop, pid_t tid)
{
    // Listings are in order of age, so a thread seen before is usually near the end.
    for (size_t i = stop->count; i > 0; i--) {
        if (stop->threads[i - 1].tid == tid)
            return true;
    }
    return false;
}

static struct stopped_thread *append_stopped_thread(struct stop *stop, pid_t tid)
{
    if (!array_reserve(&stop->threads, &stop->capacity, stop->count,
                       sizeof(stop->threads[0])))
        return NULL;
    struct stopped_thread *thread = &stop->threads[stop->count++];
    *thread =
        (struct stopped_thread){ .tid = tid, .state = STOP_ASKED, .run_state = 'S' };
    return thread;
}

// thread_state is a thread's state letter in /proc; X where the thread no longer
// exists.
static char thread_state(pid_t pid, pid_t tid)
{
    char name[32];
    struct text stat = { 0 };
    snprintf(name, sizeof(name), "task/%d/stat", tid);
    bool there = read_process_file(pid, name, STATUS_LIMIT_BYTES, &stat) == CH_OK;
    // The command before the bracket may hold brackets of its own.
    const char *bracket = there ? strrchr(stat.bytes, ')') : NULL;
    char state = bracket != NULL && bracket[1] == ' ' ? bracket[2] : 'X';
    text_deinit(&stat);
    return state;
}

// note_stop records a stopped thread's registers, and what it was doing.
static void note_stop(struct stopped_thread *thread, int status)
{
    bool event = status >> 16 == PTRACE_EVENT_STOP;
    int signal = WSTOPSIG(status);

    thread->state = STOP_STOPPED;
    thread->wait_status = status;
    if (!stop_registers_read(thread))
        thread->state = STOP_GONE;
    // PTRACE_INTERRUPT reports SIGTRAP; a job-control stop reports its own signal.
    if (event && signal != SIGTRAP)
        thread->run_state = 'T';
    if (!event)
        thread->pending_signal = signal;
}

// poll_thread records that a thread has stopped or exited. False: it is not traced by
// this process, or no longer.
static bool poll_thread(struct stopped_thread *thread)
{
    int status;
    pid_t tid = waitpid(thread->tid, &status, __WALL | WNOHANG);
    if (tid == thread->tid && WIFSTOPPED(status))
        note_stop(thread, status);
    else if (tid == thread->tid)
        thread->state = STOP_GONE;
    return tid >= 0 || errno != ECHILD;
}

static struct stop *volatile seizing; // while PTRACE_SEIZE may wait

// reap_exited is for a thread that executes another program: it waits until the others
// are reaped, and PTRACE_SEIZE waits for it. A wait that is not for one thread would
// also take stops.
static void reap_exited(int signal)
{
    int error = errno;
    const struct stop *stop = seizing;
    (void)signal;
    for (size_t i = 0; stop != NULL && i < stop->count; i++) {
        siginfo_t info = { .si_pid = 0 };
        const id_t tid = (id_t)stop->threads[i].tid;
        (void)waitid(P_PID, tid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL);
        if (info.si_pid != 0 && info.si_code != CLD_TRAPPED)
            (void)waitpid((pid_t)tid, NULL, WNOHANG | __WALL);
    }
    errno = error;
}

// seize_waiting is PTRACE_SEIZE. False: it failed.
static bool seize_waiting(struct stop *stop, pid_t tid)
{
    seizing = stop;
    bool seized = ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0;
    seizing = NULL;
    return seized;
}

// stop_seize asks one new thread to stop. A thread that cannot be traced stays in the
// list, so that it is not tried again.
static void stop_seize(struct stop *stop, pid_t tid)
{
    struct stopped_thread *thread = append_stopped_thread(stop, tid);
    if (thread == NULL)
        return;
    if (stop->seized && poll_thread(thread))
        return;
    errno = EPERM;
    bool ours =
        stop->traced || (permitted(PERMITTED_PTRACE) && seize_waiting(stop, tid));
    if (ours)
        stop_registers_before(stop->tasks_fd, thread);
    if (ours && (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0 || !stop->traced))
        return;
    int error = errno;
    thread->run_state = thread_state(stop->pid, tid);
    // An exited main thread stays listed until the others have exited.
    bool gone = error == ESRCH || thread->run_state == 'Z' || thread->run_state == 'X';
    thread->state = gone ? STOP_GONE : STOP_REFUSED;
    if (!gone && stop->refused == 0)
        stop->refused = error;
}

static void append_free_thread(struct stop *stop, pid_t tid)
{
    struct stopped_thread *thread = append_stopped_thread(stop, tid);
    if (thread != NULL)
        *thread =
            (struct stopped_thread){ .tid = tid, .state = STOP_FREE, .run_state = 'R' };
}

// note_listed handles one listed thread, and returns 1 if it is new.
static size_t note_listed(struct stop *stop, pid_t tid, pid_t free_tid, bool first)
{
    if (tid <= 0 || (!first && stop_knows(stop, tid)))
        return 0;
    if (tid == free_tid)
        append_free_thread(stop, tid);
    else
        stop_seize(stop, tid);
    return 1;
}

// seize_listed seizes the threads that are new, and returns how many there were. It
// reads the list in large pieces, a size that readdir does not let one choose.
static size_t seize_listed(struct stop *stop, pid_t free_tid)
{
    static _Alignas(struct dirent) char list[32 << 10];
    size_t found = 0;
    bool first = stop->count == 0;
    ssize_t size;
    lseek(stop->tasks_fd, 0, SEEK_SET);
    while ((size = syscall(SYS_getdents64, stop->tasks_fd, list, sizeof(list))) > 0) {
        for (ssize_t at = 0; at < size;) {
            const struct dirent *entry = (const void *)(list + at);
            pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
            found += note_listed(stop, tid, free_tid, first);
            at += entry->d_reclen;
        }
    }
    return found;
}

// guess_listed lists the threads of a process that has count of them, without a
// listing: threads that are made one after the other mostly have ids one after the
// other, and asking for an id takes a tenth of the time that /proc takes for one.
// False: some have other ids.
static bool guess_listed(struct stop *stop, size_t count)
{
    enum { MISSES_MAX = 64 };
    size_t missed = 0;
    for (pid_t tid = stop->pid; stop->count < count; tid++) {
        if (syscall(SYS_tgkill, stop->pid, tid, 0) != 0)
            missed++;
        else if (append_stopped_thread(stop, tid) == NULL)
            return false;
        if (missed > stop->count + MISSES_MAX)
            return false;
    }
    return true;
}

// seize_guessed seizes the threads as listed by guess_listed, and returns their number;
// 0: they are to be listed.
static size_t seize_guessed(struct stop *stop, pid_t free_tid, size_t count)
{
    bool all = guess_listed(stop, count);
    size_t listed = all ? stop->count : 0;
    stop->count = 0;
    for (size_t i = 0; i < listed; i++)
        (void)note_listed(stop, stop->threads[i].tid, free_tid, true);
    return listed;
}

// take_stopped_thread records that a thread has stopped or exited. False: neither yet.
static bool take_stopped_thread(struct stopped_thread *thread)
{
    if (!poll_thread(thread))
        thread->state = STOP_GONE;
    return thread->state != STOP_ASKED;
}

// wait_for_child sleeps until a thread changes state. False: none has within limit_ms.
static bool wait_for_child(uint64_t limit_ms)
{
    struct timespec timeout = { .tv_sec = (time_t)(limit_ms / 1000),
                                .tv_nsec = (long)(limit_ms % 1000) * 1000000 };
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    return sigtimedwait(&child, NULL, &timeout) == SIGCHLD;
}

// collect_after collects those of the threads from index first on that have stopped.
static void collect_after(struct stop *stop, size_t first)
{
    for (size_t i = first; i < stop->count; i++) {
        if (stop->threads[i].state == STOP_ASKED)
            (void)take_stopped_thread(&stop->threads[i]);
    }
}

// collect_stops waits for each thread in turn. Most have stopped by the time they are
// waited for, so this takes one call per thread. After the deadline it only collects
// those that have stopped.
//
// A thread that executes another program ends the others, and waits until they are
// reaped. So one that takes long must not keep us from reaping those after it.
static void collect_stops(struct stop *stop, uint64_t deadline_ms)
{
    enum { PATIENCE_MS = 20 };
    for (size_t i = 0; i < stop->count; i++) {
        struct stopped_thread *thread = &stop->threads[i];
        while (thread->state == STOP_ASKED && !take_stopped_thread(thread)) {
            uint64_t now = clock_now_ms(CLOCK_MONOTONIC);
            uint64_t left = now < deadline_ms ? deadline_ms - now : 0;
            if (left == 0)
                break;
            if (!wait_for_child(left < PATIENCE_MS ? left : PATIENCE_MS))
                collect_after(stop, i + 1);
        }
    }
}

// status_count gives a number from the text of /proc/PID/status; 0: it is not there.
static unsigned long status_count(const struct text *status, const char *name)
{
    const char *line = status->bytes != NULL ? strstr(status->bytes, name) : NULL;
    return line != NULL ? strtoul(line + strlen(name), NULL, 10) : 0;
}

// count_threads gives the kernel's count of the process's threads, which is cheaper
// than listing them; 0: not known. The same file names another tracer of the process,
// and the rights of its first thread.
static size_t count_threads(struct stop *stop)
{
    struct text *status = &stop->status;
    text_clear(status);
    if (read_process_file(stop->pid, "status", STATUS_LIMIT_BYTES, status) != CH_OK)
        text_clear(status);
    size_t running = status_count(status, "\nThreads:");
    pid_t tracer = (pid_t)status_count(status, "\nTracerPid:");
    stop->tracer = tracer != getpid() ? tracer : 0; // by now it may be us
    return running;
}

// missed_some returns true if a thread was created after the list was read, by one not
// yet stopped.
static bool missed_some(struct stop *stop)
{
    size_t present = 0;
    for (size_t i = 0; i < stop->count; i++)
        present += stop->threads[i].state != STOP_GONE;
    return count_threads(stop) > present;
}

static void mark_stuck(struct stop *stop)
{
    for (size_t i = 0; i < stop->count; i++) {
        if (stop->threads[i].state == STOP_ASKED)
            stop->threads[i].run_state = 'D';
    }
}

// holds_any returns true if a thread has stopped, or will.
static bool holds_any(const struct stop *stop)
{
    for (size_t i = 0; i < stop->count; i++) {
        if (stop->threads[i].state == STOP_STOPPED ||
            stop->threads[i].state == STOP_ASKED)
            return true;
    }
    return false;
}

static int open_thread_folder(pid_t pid)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

// interrupt_wait does nothing: the signal's delivery makes a blocked wait return.
static void interrupt_wait(int signal)
{
    (void)signal;
}

// interrupt_every calls handler, and makes blocked waits return, after every
// interval_ms; 0 ends that.
static void interrupt_every(unsigned interval_ms, void (*handler)(int))
{
    const struct sigaction action = { .sa_handler = handler };
    struct timeval interval = { .tv_sec = interval_ms / 1000,
                                .tv_usec = (suseconds_t)(interval_ms % 1000) * 1000 };
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){ interval, interval }, NULL);
}

static enum ch_status stop_all(struct stop *stop, pid_t pid, pid_t free_tid,
                               unsigned budget_ms)
{
    uint64_t deadline = clock_now_ms(CLOCK_MONOTONIC) + budget_ms;
    size_t running = free_tid != 0 && !stop->traced ? count_threads(stop) : 0;
    sigset_t child;

    // A thread that is alone waits in the handler, so no other can appear.
    if (running == 1) {
        append_free_thread(stop, free_tid);
        return CH_ERR_NOT_FOUND;
    }
    int tasks_fd = open_thread_folder(pid);
    if (tasks_fd < 0)
        return CH_ERR_IO;
    stop->tasks_fd = tasks_fd;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    (void)signal(SIGCHLD, SIG_DFL); // an ignored SIGCHLD would not be sent on a stop

    if (!stop->traced)
        interrupt_every(REAP_EVERY_MS, reap_exited);
    size_t guessed = permitted_all() ? seize_guessed(stop, free_tid, running) : 0;
    for (int i = 0; i < MAX_LISTINGS; i++) {
        bool listed = i == 0 && guessed != 0;
        size_t found = listed ? guessed : seize_listed(stop, free_tid);
        collect_stops(stop, deadline);
        if (found == 0 || !missed_some(stop))
            break;
    }
    mark_stuck(stop);
    if (!stop->traced)
        interrupt_every(0, reap_exited);

    return holds_any(stop) ? CH_OK : CH_ERR_NOT_FOUND;
}

enum ch_status stop_threads(struct stop *stop, pid_t pid, pid_t free_tid,
                            unsigned budget_ms)
{
    *stop = (struct stop){ .pid = pid };
    return stop_all(stop, pid, free_tid, budget_ms);
}

enum ch_status stop_seized(struct stop *stop, pid_t pid, pid_t free_tid,
                           unsigned budget_ms)
{
    *stop = (struct stop){ .pid = pid, .seized = true };
    return stop_all(stop, pid, free_tid, budget_ms);
}

enum ch_status stop_traced(struct stop *stop, pid_t pid, pid_t free_tid,
                           unsigned budget_ms)
{
    *stop = (struct stop){ .pid = pid, .traced = true };
    return stop_all(stop, pid, free_tid, budget_ms);
}

void stop_release(struct stop *stop)
{
    for (size_t i = 0; i < stop->count; i++) {
        struct stopped_thread *thread = &stop->threads[i];
        if (thread->state != STOP_STOPPED)
            continue;
        if (thread->restart)
            stop_registers_restart(thread);
        // One that was killed, or became another program, has yet to exit or to stop.
        bool released = ptrace(PTRACE_DETACH, thread->tid, NULL,
                               (void *)(intptr_t)thread->pending_signal) == 0;
        thread->state = released ? STOP_GONE : STOP_ASKED;
    }
}

// await_exit waits for one thread and reaps it. False: it did not exit in time. A
// thread that stops only now goes on: it may have executed another program meanwhile.
static bool await_exit(struct stopped_thread *thread, uint64_t deadline_ms)
{
    if (thread->state != STOP_STOPPED && thread->state != STOP_ASKED)
        return true;
    while (clock_now_ms(CLOCK_MONOTONIC) < deadline_ms) {
        int status;
        pid_t tid = waitpid(thread->tid, &status, __WALL);
        if ((tid == thread->tid && !WIFSTOPPED(status)) ||
            (tid < 0 && errno == ECHILD)) {
            thread->state = STOP_GONE;
            return true;
        }
        if (tid == thread->tid && thread->state == STOP_ASKED)
            ptrace(PTRACE_DETACH, tid, NULL, NULL);
    }
    return false;
}

void stop_await_termination(struct stop *stop, unsigned limit_ms)
{
    enum { LOOK_EVERY_MS = 100 };
    uint64_t deadline = clock_now_ms(CLOCK_MONOTONIC) + limit_ms;
    struct stopped_thread *main_thread = NULL;
    bool in_time = true;

    if (!holds_any(stop))
        return;
    interrupt_every(LOOK_EVERY_MS, interrupt_wait);
    for (size_t i = 0; i < stop->count && in_time; i++) {
        struct stopped_thread *thread = &stop->threads[i];
        if (thread->tid == stop->pid)
            main_thread = thread;
        else
            in_time = await_exit(thread, deadline);
    }
    // The kernel reports the main thread's exit once all others have been reaped.
    if (in_time && main_thread != NULL)
        in_time = await_exit(main_thread, deadline);
    interrupt_every(0, interrupt_wait);
    if (!in_time)
        stop_release(stop);
}

void stop_deinit(struct stop *stop)
{
    free(stop->threads);
    text_deinit(&stop->status);
    if (stop->tasks_fd != 0)
        close(stop->tasks_fd);
    *stop = (struct stop){ 0 };
}
