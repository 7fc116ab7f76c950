// SPDX-License-Identifier: Apache-2.0
//
// The global variables that the functions of a stack read or write: those of files and
// of namespaces, static ones, thread locals, and variables of other units that the
// function's unit declares.
//
// The code says which: every address in it that leads into a variable names that
// variable. The nearest to the pc come first. What the program cannot change is left
// out, as are the C and C++ libraries' streams.
#pragma once
#include "symbolizer/arguments/argument_list.h"

enum {
    ARGUMENT_GLOBALS_FRAMES = 3, // of a thread: the innermost in-app ones
    ARGUMENT_GLOBALS_MAX = 12,   // of a frame
    ARGUMENT_GLOBALS_SEEN = ARGUMENT_GLOBALS_FRAMES * ARGUMENT_GLOBALS_MAX,
    ARGUMENT_GLOBALS_BYTES = 8192, // of a thread's, as JSON; after it none is begun
};

// An argument_globals is those that a thread's frames have been given: a variable is
// listed once.
struct argument_globals {
    size_t frames;
    size_t bytes;
    uint64_t seen[ARGUMENT_GLOBALS_SEEN]; // addresses
    size_t seen_count;
};

// argument_globals_list lists those of call index of stack that were not listed before.
// Nothing is listed after ARGUMENT_GLOBALS_FRAMES calls.
void argument_globals_list(struct argument_globals *globals,
                           const struct argument_stack *stack, size_t index,
                           struct argument_list *out);
