// SPDX-License-Identifier: Apache-2.0
//
// A thread of a process that is held: what is known of it, and whether it stands still.
//
// Whoever stops threads and whoever reads their registers fill it in; a core's threads
// are made to look like those of a process that was stopped.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "unwind/unwind.h"

enum stop_state {
    STOP_ASKED,   // seized and interrupted, not seen stopped
    STOP_STOPPED, // registers are there
    STOP_GONE,    // it exited
    STOP_REFUSED, // we may not trace it
    STOP_FREE,    // not ours to stop: the thread that crashed
};

struct stopped_thread {
    pid_t tid;
    enum stop_state state;
    char run_state; // before we stopped it, as /proc names it: R S D T Z; 0: not known
    int pending_signal; // a signal it was about to receive
    struct unwind_registers registers;
    uint64_t flags;          // the processor's flags register
    bool restart;            // its system call must be restarted by us
    int wait_status;         // what waitpid said when it stopped
    int64_t call;            // the system call that it is in; negative: none
    uint64_t call_result;    // of that call, as far as it has got
    uint64_t thread_pointer; // 0: not known
    bool narrow;             // its program is of 32 bits: see narrow_walk.h
};
