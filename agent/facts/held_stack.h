// SPDX-License-Identifier: Apache-2.0
//
// A thread's registers and its stack, copied for the free phase, which finds variables
// in them. Of the thread that crashed also what its code uses: the global variables
// that are named near the pc of its innermost in-app frames, and its thread locals.
#pragma once
#include "agent/facts/held_pointers.h"
#include "agent/live/capture.h"
#include "unwind/backtrace_limit.h"

// HELD_STACK_MAX is how much of a stack is handed to the free phase.
enum { HELD_STACK_MAX = 256 << 10 };

// held_stack_add appends a thread to the capture's held file. The copy of its stack
// begins below the stack pointer and ends at the mapping's end. What it points to is
// copied of the thread that crashed; without a crash, of all until the limit. frames is
// the backtrace of the thread; stack_end, if it is not 0, is where the stack ends in a
// mapping that has other things after it.
void held_stack_add(struct capture *capture, struct held_pointers *pointers,
                    const struct stopped_thread *from,
                    const struct unwind_registers *registers,
                    const struct backtrace_limit *frames, uint64_t stack_end);

// held_vectors_saved gives the address where the kernel saved xmm0 to xmm15 or v0 to
// v15 for the signal handler whose ucontext_t is at context; 0: nowhere.
uint64_t held_vectors_saved(const struct memory_reader *memory,
                            enum unwind_arch_id arch, uint64_t context);
