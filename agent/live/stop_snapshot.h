// SPDX-License-Identifier: Apache-2.0
//
// A snapshot of a process: a child that it is made to fork, which shares its pages copy
// on write. The process is stopped for as long as the fork takes, and goes on while the
// child, which never runs an instruction, is read.
//
// One stopped thread is made to call clone, by the system call instruction of the vDSO
// and with all signals blocked, so that no code of the program runs. The child shares
// the table of descriptors: a file that the process closes is closed. It sends no
// signal at its end and no ordinary wait of the process finds it, so the process is
// made to wait for it at the end (snapshot_end), in a second, shorter stop. If this
// process is killed, the child is too (PTRACE_O_EXITKILL), and stays a zombie of the
// process.
//
// Mappings with MADV_DONTFORK are missing, and shared memory is not a copy. User:
// agent/attach.c.
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "agent/live/stop.h"
#include "base/status.h"

enum { SNAPSHOT_WHY_SIZE = 160 };

struct snapshot {
    pid_t pid;
    pid_t child;                 // which has the memory; 0: none
    struct stop stop;            // the threads as they were when they were stopped
    uint64_t call_at;            // the vDSO's system call instruction
    uint64_t hold_us;            // how long the process was stopped
    char why[SNAPSHOT_WHY_SIZE]; // there is none
};

// snapshot_take stops the process for at most budget_ms plus the time of a fork.
// CH_ERR_UNSUPPORTED: a fork would not be safe, or failed; out->why says why.
// CH_ERR_IO: it cannot be stopped; errno is set. Call snapshot_end in any case.
CH_CHECKED enum ch_status snapshot_take(pid_t pid, unsigned budget_ms,
                                        struct snapshot *out);

// snapshot_end ends the child and has the process reap it.
void snapshot_end(struct snapshot *snapshot);
