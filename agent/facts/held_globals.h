// SPDX-License-Identifier: Apache-2.0
//
// The global variables that a thread's code uses, copied for the free phase.
//
// No instructions are decoded here: whatever near the pc of the innermost frames can be
// an address of data that the program can change counts as one. Code of x86-64 has it
// as a distance from the next instruction, or, in a program at fixed addresses, as it
// is; code of AArch64 as a page and an offset in it. Bytes that only look like that
// lead to data that nobody reads. Thread locals are next to the thread pointer, or in
// the blocks of the thread's table of modules.
#pragma once
#include "agent/facts/held_pointers.h"
#include "agent/live/capture.h"
#include "unwind/backtrace_limit.h"

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

// held_globals_add copies them to the capture's held file, and notes the pointers in
// them. thread_pointer may be 0.
void held_globals_add(struct capture *capture, struct held_pointers *pointers,
                      const struct backtrace_limit *frames, uint64_t thread_pointer);
