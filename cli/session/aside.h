// SPDX-License-Identifier: Apache-2.0
//
// A second process for what may hang, as the spool's disk may: this process waits for
// it as long as it wants to, and what the other writes on standard error until then is
// written by this one. The other holds no descriptor that somebody may be waiting for.
// Users: run, doctor.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "agent/daemon/liveness.h"

struct aside {
    pid_t pid;
    int said_fd;      // what it says; -1: it has ended, or could not be made
    unsigned answers; // how often it has called aside_answer
    // A signal that arrives here, where all are blocked, is sent to the process if this
    // is true of it; NULL: signals are left alone.
    bool (*passes_on)(int signal);
};

// aside_begin makes the process, and is true in that, which ends by _exit. Of other
// descriptors than the standard ones it keeps those of live.
bool aside_begin(struct aside *aside, struct liveness *live);

// aside_answer has the other process's aside_await return.
void aside_answer(void);

// aside_await waits until the process has ended or answers; false: neither came within
// that many milliseconds, or it waits for a disk that does not answer.
bool aside_await(struct aside *aside, uint64_t most_ms);

// aside_await_work is aside_await for a process that is not worth waiting for: it also
// returns false once the other process has waited for anything for a millisecond.
bool aside_await_work(struct aside *aside, unsigned most_ms);

// aside_leave leaves the process to itself.
void aside_leave(struct aside *aside);
