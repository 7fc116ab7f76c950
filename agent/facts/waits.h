// SPDX-License-Identifier: Apache-2.0
//
// Who waits for whom: the futex that each thread sleeps on, what kind of lock it is a
// part of, and which thread holds that.
//
// A lock is recognized by its form, by its value and by an owner that is a thread of
// the process: glibc's mutexes of every type and written rwlocks, musl's mutexes but
// the normal ones, and threads that are joined. Of a mutex of glibc's the owner may
// have ended. A lock held by readers, a normal mutex of musl's, a condition and a
// semaphore have no owner; nothing is claimed for them. All memory is the target's; at
// most WAITS_MAX threads are looked at.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/live/capture.h"
#include "report/json/json_writer.h"

enum { WAITS_MAX = 512 };

struct wait {
    pid_t tid;
    const char *object; // "mutex", "rwlock", "thread"; "futex": of unknown use
    uint64_t address;   // of the object; of a thread's descriptor, its futex
    pid_t owner;        // 0: not known, or nobody in particular
    pid_t owner_ended;  // a thread that ended while it held the object; 0: none
    bool timed;         // it ends by itself
};

struct waits {
    size_t count;
    bool deadlock; // some of them wait for one another in a circle
    struct wait list[WAITS_MAX];
};

// A wait_call is a futex system call that waits.
struct wait_call {
    uint64_t address;
    uint64_t value; // what the futex is expected to hold
    bool locks;     // the kernel itself keeps the owner (PI)
    bool timed;
};

// waits_read lists the waits of capture's threads.
void waits_read(const struct capture *capture, struct waits *out);

// waits_write writes the member waits, unless there are none.
void waits_write(struct json_writer *w, const struct waits *waits);

// waits_parse_call reads a line of /proc/PID/task/TID/syscall. False: the thread is in
// no such call.
bool waits_parse_call(const char *line, struct wait_call *out);
