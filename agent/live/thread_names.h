// SPDX-License-Identifier: Apache-2.0
//
// The names of a held process's threads, from /proc.
//
// Reading one takes longer than unwinding and writing its thread, and needs nothing but
// the thread's number. So where a process has many threads, and more than one processor
// may be used, a second thread of ours reads names from the end of the list while the
// caller asks for them from its beginning. Names that are not known yet when they are
// asked for are read then.
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/live/stop.h"

// The kernel's thread names have at most 15 characters.
enum { THREAD_NAME_SIZE = 16 };

// A thread_name is what the second thread has read; complete is set last.
struct thread_name {
    char text[THREAD_NAME_SIZE];
    atomic_bool complete;
};

struct thread_names {
    const struct stop *stop;
    struct thread_name *names; // of stop's threads; NULL: nothing was read ahead
    size_t next;               // index of the thread that is probably asked for next
    atomic_size_t passed;      // threads that the caller has passed
    pthread_t reader;
    int callers_processor; // negative: not known
    bool reading;          // reader was started and has to be joined
};

// thread_names_begin starts reading ahead, if that is worth it. stop must stay as it is
// until thread_names_end. A zeroed names is valid without thread_names_begin.
void thread_names_begin(struct thread_names *names, const struct stop *stop);

// thread_names_get writes the name of one of stop's threads, empty when unknown.
void thread_names_get(struct thread_names *names, const struct stop *stop, pid_t tid,
                      char out[static THREAD_NAME_SIZE]);

// thread_names_end ends the reading, but does not wait for the second thread: it may be
// without a processor just then, and the process is held. Names that were read can
// still be asked for.
void thread_names_end(struct thread_names *names);

// thread_names_deinit waits for the second thread and frees what names holds.
void thread_names_deinit(struct thread_names *names);
