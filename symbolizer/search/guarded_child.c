// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/search/guarded_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/system/file.h"
#include "base/system/own_thread.h"
#include "report/json/tree_bytes.h"
#include "shared/signals.h"

// Most of the address space is used by mapped debug files.
#define CHILD_ADDRESS_SPACE (8ull << 30)

static void set_limit(int what, rlim_t value)
{
    struct rlimit limit;
    if (getrlimit(what, &limit) != 0)
        return;
    if (limit.rlim_max != RLIM_INFINITY && value > limit.rlim_max)
        value = limit.rlim_max;
    limit.rlim_cur = limit.rlim_max = value;
    (void)setrlimit(what, &limit);
}

void guarded_child_enter(int64_t cpu_seconds)
{
    for (int number = 1; number < SIGNALS_END; number++) {
        if (signal_in(SIGNALS_CRASH, number))
            (void)signal(number, SIG_DFL);
    }
    set_limit(RLIMIT_CORE, 1); // unlike 0, for pipes too (core(5))
    set_limit(RLIMIT_CPU, (rlim_t)cpu_seconds);
    if (!CRASHHOOK_SANITIZED) // its shadow memory takes the whole address space
        set_limit(RLIMIT_AS, CHILD_ADDRESS_SPACE);
}

int64_t guarded_child_now_ms(void)
{
    return (int64_t)clock_now_ms(CLOCK_MONOTONIC);
}

// read_result reads the child's output until the child closes its end.
static enum ch_status read_result(int64_t deadline_ms, int from, struct text *out)
{
    char part[1 << 16];
    for (;;) {
        int64_t left_ms = deadline_ms - guarded_child_now_ms();
        struct pollfd ready = { .fd = from, .events = POLLIN };
        if (left_ms <= 0)
            return CH_ERR_LIMIT;
        int count = poll(&ready, 1, left_ms < INT32_MAX ? (int)left_ms : INT32_MAX);
        if (count < 0 && errno != EINTR)
            return CH_ERR_IO;
        if (count <= 0)
            continue;
        ssize_t got = read(from, part, sizeof(part));
        if (got == 0)
            return CH_OK;
        if (got < 0 && errno != EINTR)
            return CH_ERR_IO;
        if (got > 0)
            text_append(out, part, (size_t)got);
        if (!text_ok(out))
            return CH_ERR_LIMIT;
    }
}

// leaving are children of this thread that have nothing left to do but to end.
enum { LEAVING_MAX = 4 };
static _Thread_local pid_t leaving[LEAVING_MAX];
static _Thread_local size_t leaving_count;

static bool reap(pid_t child, int *how)
{
    while (waitpid(child, how, 0) < 0)
        if (errno != EINTR)
            return false;
    return true;
}

// reap_killed waits a limited time: a file system that does not answer can keep the
// child from ending. Such a child stays a zombie of ours.
static void reap_killed(pid_t child)
{
    enum { STEP_MS = 1, STEPS = 1000 };
    for (int i = 0; i < STEPS && waitpid(child, NULL, WNOHANG) == 0; i++)
        (void)poll(NULL, 0, STEP_MS);
}

void guarded_child_reap(void)
{
    for (; leaving_count != 0; leaving_count--) {
        kill(leaving[leaving_count - 1], SIGKILL);
        reap_killed(leaving[leaving_count - 1]);
    }
}

// guarded_end_child waits for the child and returns how it ended. One whose work has
// returned is not waited for: a large process takes a while to end.
static enum ch_status guarded_end_child(const struct guarded_child *child,
                                        enum ch_status status)
{
    int how;
    uint32_t ended = __atomic_load_n(child->ended, __ATOMIC_ACQUIRE);
    if (status == CH_OK && ended != 0) {
        if (leaving_count == LEAVING_MAX)
            guarded_child_reap();
        leaving[leaving_count++] = child->pid;
        return (enum ch_status)((ended - 1) & 0xff); // as an exit status is
    }
    if (status != CH_OK) {
        kill(child->pid, SIGKILL);
        reap_killed(child->pid);
        return status;
    }
    if (!reap(child->pid, &how))
        return CH_ERR_IO;
    if (WIFEXITED(how))
        return (enum ch_status)WEXITSTATUS(how);
    // RLIMIT_CPU ends a process by SIGXCPU at its soft and by SIGKILL at its hard
    // limit.
    return WTERMSIG(how) == SIGXCPU || WTERMSIG(how) == SIGKILL ? CH_ERR_LIMIT
                                                                : CH_ERR_FAULT;
}

enum ch_status guarded_child_answer(const json_t *value, int to_parent)
{
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    enum ch_status status = tree_bytes_write(value, &text);
    if (status != CH_OK)
        return status;
    return file_write_all(to_parent, text.bytes, text.size) ? CH_OK : CH_ERR_IO;
}

json_t *guarded_child_read(const struct text *answer)
{
    json_t *value = NULL;
    if (tree_bytes_read(answer->bytes, answer->size, &value) != CH_OK)
        return NULL;
    return value;
}

static _Noreturn void guarded_run_child(guarded_child_fn *work, void *context,
                                        int64_t deadline_ms, int to_parent,
                                        uint32_t *ended, int home)
{
    leaving_count = 0;                      // they are the parent's
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); // nobody would read its result
    guarded_child_enter((deadline_ms - guarded_child_now_ms()) / 1000 + 1);
    enum ch_status status = work(context, to_parent);
    __atomic_store_n(ended, 1 + (uint32_t)status, __ATOMIC_RELEASE);
    close(to_parent); // before the end, which takes longer
    // Where the parent slept it was woken, and would wait for that end.
    if (sched_getcpu() == home)
        own_thread_leave(home);
    _exit((int)status);
}

enum ch_status guarded_child_start(guarded_child_fn *work, void *context,
                                   int64_t deadline_ms, struct guarded_child *out)
{
    int ends[2];
    const int home = sched_getcpu();
    uint32_t *ended = mmap(NULL, sizeof(*ended), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ended == MAP_FAILED)
        return CH_ERR_NO_MEMORY;
    pid_t child = -1;
    if (pipe2(ends, O_CLOEXEC) == 0) {
        child = fork();
        if (child == 0) {
            close(ends[0]);
            guarded_run_child(work, context, deadline_ms, ends[1], ended, home);
        }
        close(ends[1]);
        if (child < 0)
            close(ends[0]);
    }
    if (child < 0) {
        (void)munmap(ended, sizeof(*ended));
        return CH_ERR_IO;
    }
    *out = (struct guarded_child){ .pid = child, .from = ends[0], .ended = ended };
    return CH_OK;
}

enum ch_status guarded_child_start_beside(guarded_child_fn *work, void *context,
                                          int64_t deadline_ms,
                                          struct guarded_child *out)
{
    enum ch_status status = guarded_child_start(work, context, deadline_ms, out);
    if (status == CH_OK)
        own_child_move(out->pid);
    return status;
}

enum ch_status guarded_child_finish(struct guarded_child *child, int64_t deadline_ms,
                                    struct text *result)
{
    enum ch_status status =
        guarded_end_child(child, read_result(deadline_ms, child->from, result));
    close(child->from);
    (void)munmap(child->ended, sizeof(*child->ended));
    return status;
}

enum ch_status guarded_child_run(guarded_child_fn *work, void *context,
                                 int64_t deadline_ms, struct text *result)
{
    struct guarded_child child;
    enum ch_status status = guarded_child_start(work, context, deadline_ms, &child);
    return status == CH_OK ? guarded_child_finish(&child, deadline_ms, result) : status;
}
