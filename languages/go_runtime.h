// SPDX-License-Identifier: Apache-2.0
//
// The goroutine that a thread of a Go program runs, and where it left its own stack
// (runtime2.go: g, m, gobuf). Code of C, and parts of the runtime, run on another
// stack, that of the thread's scheduler; the goroutine then waits for them to return.
//
// The goroutine is found in the thread's local storage and believed only if it, the
// runtime's description of the thread and that one's scheduler refer to one another.
// x86-64 alone; tried with Go 1.19.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/memory_reader.h"

// go_runtime_goroutine is the address of the goroutine that runs on the thread with
// that pointer, also while a signal's handler or the scheduler does; 0: there is none.
uint64_t go_runtime_goroutine(const struct memory_reader *reader,
                              uint64_t thread_pointer);

// go_runtime_program is an address in the code of the program whose goroutine is g; 0:
// it cannot be read.
uint64_t go_runtime_program(const struct memory_reader *reader, uint64_t g);

// A go_switch is the place where a thread left a goroutine's stack.
struct go_switch {
    uint64_t goroutine;
    uint64_t scheduler_sp; // where the scheduler's stack began to be used; 0: nowhere
    uint64_t pc;           // of the goroutine, with its sp and frame pointer
    uint64_t sp;
    uint64_t fp;
    bool placeholder; // pc is a function that stands for the switch, and was never
                      // called
};

// go_switch_find finds it for the thread with that pointer. False: it runs no
// goroutine, or nothing that can be followed.
bool go_switch_find(const struct memory_reader *reader, uint64_t thread_pointer,
                    struct go_switch *out);

// go_switch_is_placeholder returns true if pc is such a function.
bool go_switch_is_placeholder(const struct memory_reader *reader, uint64_t pc);

// go_switch_is_at returns true if the frame with that stack pointer is the one that
// left the goroutine's stack. What is further out on this stack is older, and no
// caller.
bool go_switch_is_at(const struct memory_reader *reader, const struct go_switch *change,
                     uint64_t sp);
