// SPDX-License-Identifier: Apache-2.0
#include "agent/live/thread_names.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/live/permitted.h"
#include "base/system/own_thread.h"

// From so many threads on, starting one of ours costs less than it saves.
enum { LEAST_THREADS = 24 };

static void read_thread_name(const struct stop *stop, pid_t tid,
                             char out[static THREAD_NAME_SIZE])
{
    char path[32];
    out[0] = 0;
    if (stop->tasks_fd == 0)
        return;
    snprintf(path, sizeof(path), "%d/comm", tid);
    int fd = openat(stop->tasks_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t size = read(fd, out, THREAD_NAME_SIZE - 1);
    close(fd);
    out[size > 0 ? size : 0] = 0;
    out[strcspn(out, "\n")] = 0;
}

// read_names_ahead is what the second thread runs: it ends where the caller is.
static void *read_names_ahead(void *context)
{
    struct thread_names *names = context;
    const struct stop *stop = names->stop;
    own_thread_leave(names->callers_processor);
    for (size_t i = stop->count; i > atomic_load(&names->passed); i--) {
        struct thread_name *name = &names->names[i - 1];
        read_thread_name(stop, stop->threads[i - 1].tid, name->text);
        atomic_store_explicit(&name->complete, true, memory_order_release);
    }
    return NULL;
}

// may_start_reader returns true if there is a processor for a second thread, and no
// filter that may forbid it.
static bool may_start_reader(void)
{
    cpu_set_t cpus;
    return permitted_all() && sched_getaffinity(0, sizeof(cpus), &cpus) == 0 &&
           CPU_COUNT(&cpus) > 1;
}

void thread_names_begin(struct thread_names *names, const struct stop *stop)
{
    if (stop->count < LEAST_THREADS || stop->tasks_fd == 0 || !may_start_reader())
        return;
    names->names = calloc(stop->count, sizeof(*names->names));
    if (names->names == NULL)
        return;
    names->stop = stop;
    names->callers_processor = sched_getcpu();
    names->reading = pthread_create(&names->reader, NULL, read_names_ahead, names) == 0;
}

// find_thread_index gives the thread's index in stop, starting at the one that is
// probably asked for; SIZE_MAX: it is not listed.
static size_t find_thread_index(const struct thread_names *names, pid_t tid)
{
    const struct stop *stop = names->stop;
    for (size_t i = names->next; i < stop->count; i++)
        if (stop->threads[i].tid == tid)
            return i;
    for (size_t i = 0; i < names->next; i++)
        if (stop->threads[i].tid == tid)
            return i;
    return SIZE_MAX;
}

void thread_names_get(struct thread_names *names, const struct stop *stop, pid_t tid,
                      char out[static THREAD_NAME_SIZE])
{
    size_t index = names->names != NULL ? find_thread_index(names, tid) : SIZE_MAX;
    // All are asked for in order, but for the crashed thread, which comes first.
    if (index != SIZE_MAX && stop->threads[index].state != STOP_FREE) {
        names->next = index + 1;
        atomic_store(&names->passed, names->next);
    }
    if (index != SIZE_MAX &&
        atomic_load_explicit(&names->names[index].complete, memory_order_acquire))
        memcpy(out, names->names[index].text, THREAD_NAME_SIZE);
    else
        read_thread_name(stop, tid, out);
}

void thread_names_end(struct thread_names *names)
{
    if (names->reading)
        atomic_store(&names->passed, names->stop->count);
}

void thread_names_deinit(struct thread_names *names)
{
    thread_names_end(names);
    if (names->reading)
        pthread_join(names->reader, NULL);
    free(names->names);
    *names = (struct thread_names){ 0 };
}
