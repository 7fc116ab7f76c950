// SPDX-License-Identifier: Apache-2.0
//
// A thread of a held process: what is known of it, and whether it is stopped.
//
// The code that stops threads and the code that reads registers fill it in; a core's
// threads are presented like those of a stopped process.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "unwind/unwind.h"

enum stop_state {
    STOP_ASKED,   // seized and interrupted, not yet seen stopped
    STOP_STOPPED, // its registers were read
    STOP_GONE,    // it exited
    STOP_REFUSED, // tracing it is refused
    STOP_FREE,    // not ours to stop: the crashed thread
};

// A call_before is what a thread waited in before it was requested to stop.
struct call_before {
    int64_t number;    // 0: none, or not wanted
    uint64_t argument; // the first
    uint64_t sp;
    uint64_t pc;
};

struct stopped_thread {
    pid_t tid;
    enum stop_state state;
    char run_state;     // before we stopped it, as in /proc: R S D T Z; 0: not known
    int pending_signal; // a signal it was about to receive
    struct unwind_registers registers;
    uint64_t flags;       // the processor's flags register
    bool restart;         // we must restart its system call
    int wait_status;      // waitpid's status of the stop
    int64_t call;         // the system call it is in; negative: none
    uint64_t call_result; // that call's result register
    struct call_before before;
    uint64_t thread_pointer; // 0: not known
    uint64_t gs_base;        // x86-64; 0: not set, or not known
    uint64_t shadow_stack;   // its pointer; 0: it has none, or it is not known
    bool narrow;             // a 32-bit program's: see raw_threads.c
    const uint8_t *vectors;  // a core's; NULL: not read yet
};
