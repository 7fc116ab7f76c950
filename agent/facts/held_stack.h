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
// v31 for the signal handler whose ucontext_t is at context; 0: nowhere.
uint64_t held_vectors_saved(const struct memory_reader *memory,
                            enum unwind_arch_id arch, uint64_t context);

// The global variables that a thread's code uses, copied for the free phase.
//
// No instructions are decoded here: whatever near the pc of the innermost frames can be
// an address of data that the program can change counts as one. Code of x86-64 has it
// as a distance from the next instruction, or, in a program at fixed addresses, as it
// is; code of AArch64 as a page and an offset in it. Bytes that only look like that
// lead to data that nobody reads. Thread locals are next to the thread pointer, or in
// the blocks of the thread's table of modules.

enum {
    HELD_GLOBALS_FRAMES = 4,    // whose code is searched, of images not of the system,
    HELD_GLOBALS_DEPTH = 32,    // among so many of the innermost
    HELD_GLOBALS_BEFORE = 1024, // bytes of code before each pc
    HELD_GLOBALS_AFTER = 512,
    HELD_GLOBALS_SYSTEM = 64,  // before and after the pc of the system's code
    HELD_GLOBALS_BLOCK = 1024, // what is copied at once
    HELD_GLOBALS_BLOCKS = 96,
    HELD_GLOBALS_SEARCHED = 128, // bytes of a variable that are searched for pointers
    HELD_LOCALS_BYTES = 4096,    // of thread locals, from the thread pointer on
    HELD_LOCALS_MODULES = 32,    // of the thread's table
};

// held_globals_add copies the global variables that a thread's code uses to the
// capture's held file, and notes the pointers in them. thread_pointer may be 0.
void held_globals_add(struct capture *capture, struct held_pointers *pointers,
                      const struct backtrace_limit *frames, uint64_t thread_pointer);
