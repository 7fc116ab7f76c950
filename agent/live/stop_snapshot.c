// SPDX-License-Identifier: Apache-2.0
//
// How a thread is made to make a call (call_in_thread). It is in a stop of
// PTRACE_INTERRUPT, that is, where the kernel looks for signals.
// 1. Its registers and signal mask are saved; all signals are blocked, and the pc is
//    set to a system call instruction.
// 2. PTRACE_SYSCALL up to the entry, and again up to the exit; a clone's event, which
//    names the child, is in between.
// 3. PTRACE_INTERRUPT, and on to that stop: again where the kernel looks for signals,
//    so that it restarts the call that the thread was in, once its registers are
//    restored.
// Only SIGKILL and SIGSTOP can come in between. A stop for SIGSTOP ends the attempt,
// and the signal is delivered when the thread is released.
#include "agent/live/stop_snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/live/keep.h"
#include "agent/live/target_memory.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/system/file.h"
#include "images/read_file.h"

static enum ch_status refuse(struct snapshot *snapshot, const char *why)
{
    (void)snprintf(snapshot->why, sizeof(snapshot->why), "%s", why);
    return CH_ERR_UNSUPPORTED;
}

#if defined(__x86_64__)

enum {
    STATUS_BYTES = 64 << 10,
    AUXV_BYTES = 4096,
    STAT_BYTES = 4096,
    CGROUP_BYTES = 64 << 10
};
enum { CALL_STOP = SIGTRAP | 0x80 }; // of PTRACE_O_TRACESYSGOOD

// has_userfault returns true if the process has a userfaultfd: a fork may wait for
// whoever serves that.
static bool has_userfault(pid_t pid)
{
    char path[32];
    bool found = false;
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char link[32] = { 0 };
        found |= readlinkat(dirfd(folder), entry->d_name, link, sizeof(link) - 1) > 0 &&
                 strcmp(link, "anon_inode:[userfaultfd]") == 0;
    }
    if (folder != NULL)
        (void)closedir(folder);
    return found;
}

// is_near_memory_limit returns true if the cgroup has less memory left than an eighth
// of what the process has: the copy's page tables, and pages that the process writes
// meanwhile, need some.
static bool is_near_memory_limit(pid_t pid)
{
    enum { SHARE = 8 };
    struct text CH_CLEANUP(text_deinit) lines = { 0 };
    struct context_liveness liveness = { 0 };
    struct usage usage = { 0 };
    if (read_process_file(pid, "cgroup", CGROUP_BYTES, &lines) != CH_OK)
        return false;
    usage.pid = pid;
    usage_find(&usage, "", lines.bytes);
    usage_sample(&usage, 0, &liveness);
    const struct liveness_sample *sample = &liveness.sample[0];
    return liveness.limit_bytes != 0 && sample->cgroup_bytes != 0 &&
           sample->cgroup_bytes + sample->rss_bytes / SHARE > liveness.limit_bytes;
}

// find_call_instruction finds a system call instruction in the vDSO.
static bool find_call_instruction(pid_t pid, uint64_t *out)
{
    enum { VDSO_BYTES = 4096, SYSINFO_EHDR = 33 };
    static const uint8_t instruction[] = { 0x0f, 0x05 };
    struct text CH_CLEANUP(text_deinit) auxv = { 0 };
    uint8_t bytes[VDSO_BYTES];
    uint64_t vdso = 0;
    if (read_process_file(pid, "auxv", AUXV_BYTES, &auxv) != CH_OK)
        return false;
    struct cursor c = cursor_over(auxv.bytes, auxv.size);
    while (vdso == 0 && cursor_left(&c) >= 16) {
        uint64_t type = cursor_u64(&c);
        uint64_t value = cursor_u64(&c);
        vdso = type == SYSINFO_EHDR ? value : 0;
    }
    struct target_memory memory;
    target_memory_init_uncached(&memory, pid);
    size_t got =
        vdso != 0 ? target_memory_copy(&memory, vdso, bytes, sizeof(bytes)) : 0;
    target_memory_deinit(&memory);
    const uint8_t *at =
        got > 0 ? memmem(bytes, got, instruction, sizeof(instruction)) : NULL;
    if (at != NULL)
        *out = vdso + (uint64_t)(at - bytes);
    return at != NULL;
}

// has_stuck_thread returns true if a thread sleeps uninterruptibly, as while a child
// that it made by vfork runs: it could not be stopped.
static bool has_stuck_thread(pid_t pid)
{
    char path[32];
    bool found = false;
    (void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        struct text CH_CLEANUP(text_deinit) stat = { 0 };
        char name[sizeof(entry->d_name) + 16];
        (void)snprintf(name, sizeof(name), "task/%s/stat", entry->d_name);
        const char *end =
            entry->d_name[0] != '.' &&
                    read_process_file(pid, name, STAT_BYTES, &stat) == CH_OK
                ? strrchr(stat.bytes, ')')
                : NULL;
        found |= end != NULL && strncmp(end, ") D", 3) == 0;
    }
    if (folder != NULL)
        (void)closedir(folder);
    return found;
}

// look_before refuses a fork for what can be known before the process is stopped.
static enum ch_status look_before(struct snapshot *snapshot)
{
    struct text CH_CLEANUP(text_deinit) status = { 0 };
    if (read_process_file(snapshot->pid, "status", STATUS_BYTES, &status) != CH_OK)
        return CH_ERR_IO;
    if (strstr(status.bytes, "\nSeccomp:\t") != NULL &&
        strstr(status.bytes, "\nSeccomp:\t0\n") == NULL)
        return refuse(snapshot, "a seccomp filter might end it for a fork");
    if (has_userfault(snapshot->pid))
        return refuse(snapshot,
                      "it has a userfaultfd, whose server a fork may wait for");
    if (is_near_memory_limit(snapshot->pid))
        return refuse(snapshot,
                      "its cgroup is too near to its memory limit for a copy");
    if (has_stuck_thread(snapshot->pid))
        return refuse(snapshot, "a thread sleeps uninterruptibly (a vfork, a disk)");
    if (!find_call_instruction(snapshot->pid, &snapshot->call_at))
        return refuse(snapshot, "it has no vDSO with a system call");
    return CH_OK;
}

// A call is what a thread is made to call.
struct call {
    uint64_t number;
    uint64_t arguments[4];
    int64_t result;
    pid_t child; // of a clone
};

static bool await_tracee_stop(pid_t tid, int *status)
{
    return waitpid(tid, status, __WALL) == tid && WIFSTOPPED(*status);
}

// go_to_exit goes on from the entry of the call to its exit. False: the thread stopped
// for something else.
static bool go_to_exit(pid_t tid, struct call *call, int *status)
{
    unsigned long child = 0;
    while (ptrace(PTRACE_SYSCALL, tid, NULL, NULL) == 0 &&
           await_tracee_stop(tid, status)) {
        if (*status >> 16 == PTRACE_EVENT_CLONE) {
            if (ptrace(PTRACE_GETEVENTMSG, tid, NULL, &child) == 0)
                call->child = (pid_t)child;
            continue;
        }
        struct user_regs_struct r;
        if (WSTOPSIG(*status) != CALL_STOP ||
            ptrace(PTRACE_GETREGS, tid, NULL, &r) != 0)
            return false;
        call->result = (int64_t)r.rax;
        return true;
    }
    return false;
}

// call_in_thread makes the stopped thread call. False: it did not.
static bool call_in_thread(struct stopped_thread *thread, uint64_t call_at,
                           struct call *call)
{
    const pid_t tid = thread->tid;
    const uint64_t all = UINT64_MAX;
    struct user_regs_struct saved;
    uint64_t mask;
    int status = 0;
    if (ptrace(PTRACE_GETREGS, tid, NULL, &saved) != 0 ||
        ptrace(PTRACE_GETSIGMASK, tid, (void *)sizeof(mask), &mask) != 0)
        return false;
    struct user_regs_struct r = saved;
    r.rip = call_at;
    r.rax = call->number;
    r.orig_rax = UINT64_MAX; // nothing to restart
    r.rdi = call->arguments[0];
    r.rsi = call->arguments[1];
    r.rdx = call->arguments[2];
    r.r10 = call->arguments[3];
    (void)ptrace(PTRACE_SETOPTIONS, tid, NULL,
                 (void *)(uintptr_t)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE));
    (void)ptrace(PTRACE_SETSIGMASK, tid, (void *)sizeof(all), &all);
    bool entered = ptrace(PTRACE_SETREGS, tid, NULL, &r) == 0 &&
                   ptrace(PTRACE_SYSCALL, tid, NULL, NULL) == 0 &&
                   await_tracee_stop(tid, &status) && WSTOPSIG(status) == CALL_STOP;
    bool done = entered && go_to_exit(tid, call, &status);
    if (done && ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0 &&
        ptrace(PTRACE_CONT, tid, NULL, NULL) == 0)
        (void)await_tracee_stop(tid, &status);
    (void)ptrace(PTRACE_SETREGS, tid, NULL, &saved);
    (void)ptrace(PTRACE_SETSIGMASK, tid, (void *)sizeof(mask), &mask);
    (void)ptrace(PTRACE_SETOPTIONS, tid, NULL, NULL);
    if (WIFSTOPPED(status) && status >> 16 == 0 && WSTOPSIG(status) != CALL_STOP)
        thread->pending_signal = WSTOPSIG(status);
    return done;
}

// is_in_sequence returns true if the thread is in a restartable sequence (rseq(2)), or
// may be. While the thread runs elsewhere the kernel forgets the sequence, and would
// let it continue where it has to begin anew. Linux before 5.13 does not say where
// sequences are; none is assumed then.
static bool is_in_sequence(pid_t tid)
{
    enum { GET_CONFIGURATION = 0x420f, SEQUENCE_AT = 8, START_AT = 8, SIZE_AT = 16 };
    struct {
        uint64_t address;
        uint32_t size;
        uint32_t signature;
        uint64_t flags;
    } area = { 0 };
    struct user_regs_struct r;
    // Not all C libraries have the name.
    if (syscall(SYS_ptrace, GET_CONFIGURATION, tid, sizeof(area), &area) <= 0 ||
        area.address == 0)
        return false;
    errno = 0;
    uint64_t at = (uint64_t)ptrace(PTRACE_PEEKDATA, tid,
                                   (void *)(area.address + SEQUENCE_AT), NULL);
    if (errno != 0 || at == 0)
        return errno != 0;
    uint64_t start =
        (uint64_t)ptrace(PTRACE_PEEKDATA, tid, (void *)(at + START_AT), NULL);
    uint64_t size =
        (uint64_t)ptrace(PTRACE_PEEKDATA, tid, (void *)(at + SIZE_AT), NULL);
    return errno != 0 || ptrace(PTRACE_GETREGS, tid, NULL, &r) != 0 ||
           r.rip - start < size;
}

// callable_thread is a thread that can be made to call: it is in the stop that was
// requested, and not in one for a signal or for job control.
static struct stopped_thread *callable_thread(struct stop *stop)
{
    for (size_t i = 0; i < stop->count; i++) {
        struct stopped_thread *thread = &stop->threads[i];
        if (thread->state == STOP_STOPPED && !thread->narrow &&
            thread->wait_status >> 16 == PTRACE_EVENT_STOP &&
            WSTOPSIG(thread->wait_status) == SIGTRAP && !is_in_sequence(thread->tid))
            return thread;
    }
    return NULL;
}

// hold_child waits for the child's first stop, and has it killed with us, and before
// its parent where memory runs out.
static bool hold_child(pid_t child)
{
    static const char first[] = "1000";
    char path[40];
    int status;
    if (!await_tracee_stop(child, &status) ||
        ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_EXITKILL) != 0)
        return false;
    (void)snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", child);
    CH_CLEANUP(file_close) int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0)
        (void)!write(fd, first, sizeof(first) - 1);
    return true;
}

static enum ch_status fork_stopped(struct snapshot *snapshot)
{
    // No signal at its end, and the same descriptors.
    struct call call = { .number = SYS_clone, .arguments = { CLONE_FILES } };
    for (size_t i = 0; i < snapshot->stop.count; i++) {
        if (snapshot->stop.threads[i].state == STOP_ASKED)
            return refuse(snapshot, "a thread did not stop in time");
    }
    struct stopped_thread *thread = callable_thread(&snapshot->stop);
    if (thread == NULL)
        return refuse(snapshot,
                      "it is stopped, a 32-bit program, or all of its threads are "
                      "about to take signals or in a restartable sequence");
    bool done = call_in_thread(thread, snapshot->call_at, &call);
    snapshot->child = call.child;
    if (done && call.result > 0 && call.child > 0 && hold_child(call.child))
        return CH_OK;
    (void)snprintf(snapshot->why, sizeof(snapshot->why), "its fork failed: %s",
                   done && call.result < 0 ? strerror((int)-call.result)
                                           : "a signal arrived");
    return CH_ERR_UNSUPPORTED;
}

// reap_by makes a thread wait for the child that was killed. False: it did not.
static bool reap_by(struct snapshot *snapshot, pid_t tid)
{
    struct stopped_thread thread = { .tid = tid };
    struct call call = { .number = SYS_wait4,
                         .arguments = { (uint64_t)snapshot->child, 0,
                                        (uint64_t)(unsigned)__WALL | WNOHANG, 0 } };
    int status = 0;
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
        return false;
    (void)ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    bool reaped = await_tracee_stop(tid, &status) &&
                  status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP &&
                  !is_in_sequence(tid) &&
                  call_in_thread(&thread, snapshot->call_at, &call) &&
                  call.result == snapshot->child;
    if (WIFSTOPPED(status) && status >> 16 == 0)
        thread.pending_signal = WSTOPSIG(status);
    (void)ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)thread.pending_signal);
    return reaped;
}

#else

static enum ch_status look_before(struct snapshot *snapshot)
{
    return refuse(snapshot, "snapshots are made on x86-64 alone");
}

static enum ch_status fork_stopped(struct snapshot *snapshot)
{
    return refuse(snapshot, "snapshots are made on x86-64 alone");
}

static bool reap_by(struct snapshot *snapshot, pid_t tid)
{
    (void)snapshot;
    (void)tid;
    return false;
}

#endif

enum ch_status snapshot_take(pid_t pid, unsigned budget_ms, struct snapshot *out)
{
    *out = (struct snapshot){ .pid = pid };
    enum ch_status status = look_before(out);
    if (status != CH_OK)
        return status;
    uint64_t began_ns = clock_now_ns(CLOCK_MONOTONIC);
    status = stop_threads(&out->stop, pid, 0, budget_ms);
    if (status != CH_OK) {
        errno = out->stop.refused != 0 ? out->stop.refused : ESRCH;
        return CH_ERR_IO;
    }
    status = fork_stopped(out);
    stop_release(&out->stop);
    out->hold_us = (clock_now_ns(CLOCK_MONOTONIC) - began_ns) / 1000;
    for (size_t i = 0; i < out->stop.count; i++) {
        struct stopped_thread *thread = &out->stop.threads[i];
        if (thread->wait_status != 0)
            thread->state = STOP_STOPPED; // as the report is to have it
    }
    return status;
}

void snapshot_end(struct snapshot *snapshot)
{
    bool reaped = snapshot->child == 0;
    if (!reaped) {
        (void)kill(snapshot->child, SIGKILL);
        (void)waitpid(snapshot->child, NULL, __WALL);
    }
    for (size_t i = 0; !reaped && i < snapshot->stop.count; i++)
        reaped = reap_by(snapshot, snapshot->stop.threads[i].tid);
    stop_deinit(&snapshot->stop);
    snapshot->child = 0;
}
