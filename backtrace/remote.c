// SPDX-License-Identifier: Apache-2.0
//
// Backtraces of other threads and other processes.
//
// A forked child captures them: ptrace cannot stop threads of its own process, waiting
// for stopped threads would take signals and children away from the program, and a
// child that fails does no harm, because the kernel detaches what a dead tracer held.
// The result is returned through a pipe, as JSON.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/live/stop.h"
#include "agent/live/target_memory.h"
#include "backtrace/capture_options.h"
#include "backtrace/stored.h"
#include "base/system/file.h"
#include "images/image_frames.h"
#include "images/link_map.h"

enum { STOP_BUDGET_MS = 1000, JSON_LIMIT_BYTES = 64 << 20 };

// remote is what to capture.
struct remote {
    pid_t pid;
    pid_t tid;
    struct capture_options options;
};

// held is the stopped process while it is walked.
struct held {
    struct stop stop;
    struct target_memory memory;
    struct memory_reader reader;
    struct target_images images;
    struct backtrace_limit kept;
};

static const struct stopped_thread *find_thread(const struct stop *stop, pid_t tid)
{
    for (size_t i = 0; i < stop->count; i++)
        if (stop->threads[i].tid == tid)
            return &stop->threads[i];
    return NULL;
}

static enum ch_status read_remote_target(struct held *held, pid_t tid)
{
    enum ch_status status = target_memory_init(&held->memory, tid);
    if (status != CH_OK)
        return status;
    held->reader = target_memory_reader(&held->memory);
    status = images_read(&held->images, tid, &held->reader);
    if (status != CH_OK && status != CH_ERR_LIMIT)
        return status;
    if (link_map_read(&held->images, tid, &held->reader) == CH_ERR_NO_MEMORY)
        return CH_ERR_NO_MEMORY;
    return images_list_for_unwinder(&held->images);
}

static enum ch_status walk_thread(struct held *held, const struct remote *remote,
                                  const struct unwind_registers *registers)
{
    struct unwind_space *space;
    enum ch_status status =
        unwind_space_create(unwind_arch_native(), &held->reader, held->images.unwind,
                            held->images.count, &space);
    if (status != CH_OK)
        return status;
    unwind_space_set_code(space, images_is_code, &held->images);
    image_frames_serve(&held->images, space);
    const struct target_mapping *stack =
        images_mapping(&held->images, registers->value[UNWIND_SP]);
    if (stack != NULL)
        target_memory_set_stack(&held->memory, stack->start, stack->end);
    struct capture_frames frames = { .kept = &held->kept,
                                     .skip = remote->options.offset };
    capture_frames_begin(&frames, &remote->options);
    (void)unwind_walk(space, registers, remote->options.how, capture_frames_keep,
                      &frames);
    unwind_space_destroy(space);
    return CH_OK;
}

// hold_and_walk stores the thread's frames and the process's images in held, and has
// released the process when it returns. It returns 0 or an errno value.
static int hold_and_walk(struct held *held, const struct remote *remote)
{
    enum ch_status status = stop_threads(&held->stop, remote->pid, 0, STOP_BUDGET_MS);
    if (status == CH_ERR_IO)
        return errno == ENOENT ? ESRCH : errno;
    const struct stopped_thread *thread = find_thread(&held->stop, remote->tid);
    int error = 0;
    if (thread == NULL)
        error = ESRCH;
    else if (thread->state == STOP_ASKED)
        error = ETIMEDOUT;
    else if (thread->state != STOP_STOPPED)
        error = held->stop.refused != 0 ? held->stop.refused : ESRCH;
    if (error == 0) {
        status = read_remote_target(held, remote->tid);
        if (status == CH_OK)
            status = walk_thread(held, remote, &thread->registers);
        error = stored_errno(status);
    }
    stop_release(&held->stop);
    return error;
}

static int capture_held(const struct remote *remote, char **out_json)
{
    struct held held = { .stop = { .pid = 0 } };
    struct crashhook_images *images;
    struct crashhook_backtrace *backtrace;
    int error = hold_and_walk(&held, remote);
    if (error != 0)
        return error;
    enum ch_status status = image_list_from_target(&held.images, &images);
    if (status == CH_OK)
        status = stored_from_walk(&held.kept, images, &backtrace);
    if (status != CH_OK)
        return stored_errno(status);
    *out_json = crashhook_backtrace_to_json(backtrace);
    return *out_json != NULL ? 0 : ENOMEM;
}

// run_capture_child is all that the child does. It frees nothing, as it exits at once.
// If go is given, it waits on it until it has been allowed to trace.
static _Noreturn void run_capture_child(const struct remote *remote, int to_parent,
                                        int go)
{
    char byte;
    char *json = NULL;
    // The parent closes its end, without writing, once the child may trace.
    int error = read(go, &byte, 1) >= 0 ? capture_held(remote, &json) : EIO;
    if (file_write_all(to_parent, &error, sizeof(error)) && error == 0)
        (void)file_write_all(to_parent, json, strlen(json));
    _exit(0);
}

// read_answer reads until the child has closed its end. The answer is an errno value,
// followed by the JSON if that is 0.
static int read_answer(int fd, struct text *json)
{
    char bytes[4096];
    int error = 0;
    size_t head = 0;
    json->limit_bytes = JSON_LIMIT_BYTES;
    for (;;) {
        ssize_t size = read(fd, bytes, sizeof(bytes));
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            break;
        size_t used = 0;
        while (used < (size_t)size && head < sizeof(error))
            ((char *)&error)[head++] = bytes[used++];
        text_append(json, bytes + used, (size_t)size - used);
    }
    if (head < sizeof(error))
        return EIO;
    return error != 0 || text_ok(json) ? error : ENOMEM;
}

// start_child forks with all signals blocked, so that no signal handler of the program
// runs in the child.
static pid_t start_child(const struct remote *remote, const int answer[2],
                         const int go[2])
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t child = fork();
    if (child == 0) {
        close(answer[0]);
        close(go[1]);
        run_capture_child(remote, answer[1], go[0]);
    }
    int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return child;
}

// ask_child makes a child capture. allow: where Yama requires it, the child has to be
// declared as a permitted tracer of its own parent (PR_SET_PTRACER).
static int ask_child(const struct remote *remote, bool allow, struct text *json)
{
    int answer[2];
    int go[2];
    if (pipe2(answer, O_CLOEXEC) != 0)
        return errno;
    if (pipe2(go, O_CLOEXEC) != 0) {
        int error = errno;
        close(answer[0]);
        close(answer[1]);
        return error;
    }
    pid_t child = start_child(remote, answer, go);
    int error = child < 0 ? errno : 0;
    close(answer[1]);
    close(go[0]);
    if (child > 0 && allow)
        prctl(PR_SET_PTRACER, child, 0, 0, 0);
    close(go[1]);
    if (child > 0)
        error = read_answer(answer[0], json);
    close(answer[0]);
    if (child > 0 && allow)
        prctl(PR_SET_PTRACER, 0, 0, 0, 0);
    // Another thread of the program may wait for any child and reap this one.
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    return error;
}

static int capture_remote(struct remote *remote,
                          const struct crashhook_capture_options *options,
                          struct crashhook_backtrace **out)
{
    struct text json = { 0 };
    if (capture_options_read(options, &remote->options) != CH_OK || remote->tid <= 0 ||
        remote->tid == (pid_t)syscall(SYS_gettid))
        return EINVAL;
    bool own = remote->pid == getpid();
    int error = ask_child(remote, false, &json);
    // Declaring a tracer replaces the one that the program may have declared itself, so
    // it is done only if it is needed.
    if (error == EPERM && own) {
        text_deinit(&json);
        error = ask_child(remote, true, &json);
    }
    if (error == 0)
        error = crashhook_backtrace_from_json(json.bytes, json.size, out);
    text_deinit(&json);
    return error;
}

int crashhook_backtrace_capture_thread(pid_t tid,
                                       const struct crashhook_capture_options *options,
                                       struct crashhook_backtrace **out)
{
    struct remote remote = { .pid = getpid(), .tid = tid };
    return capture_remote(&remote, options, out);
}

int crashhook_backtrace_capture_process(pid_t pid, pid_t tid,
                                        const struct crashhook_capture_options *options,
                                        struct crashhook_backtrace **out)
{
    struct remote remote = { .pid = pid, .tid = tid != 0 ? tid : pid };
    return capture_remote(&remote, options, out);
}
