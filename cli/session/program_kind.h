// SPDX-License-Identifier: Apache-2.0
//
// What kind of program a command is, according to the file that would be executed:
// whether the handler can be preloaded into it, and whether that is of use.
//
// The file is found as execvp finds it, and for a script its interpreter is examined.
// It may be anything: what is read of it is bounded, and a file that cannot be read, or
// is not a program, is left to exec.
#pragma once
#include <limits.h>
#include <stdbool.h>

enum program_kind {
    PROGRAM_DYNAMIC,     // preloaded: it is of this machine and C library
    PROGRAM_SANITIZED,   // preloaded after its sanitizer's runtime
    PROGRAM_HIDDEN_TSAN, // traced: its runtime cannot start after a library's
                         // constructor
    PROGRAM_HAS_HANDLER, // static, with our handler linked
    PROGRAM_PRIVILEGED,  // it gains privileges, so the loader ignores LD_PRELOAD
    PROGRAM_STATIC,      // no library can be preloaded
    PROGRAM_GO,          // its runtime must install its handlers first
    PROGRAM_OTHER_LIBC,  // it uses another C library than ours
    PROGRAM_FOREIGN,     // it is of another machine, or 32-bit
    PROGRAM_UNKNOWN,     // it cannot be read
};

struct program {
    enum program_kind kind;
    bool linked;                // libcrashhook.a is linked into it
    bool is_static;             // it loads no library
    char path[PATH_MAX];        // of the file that is executed; empty: not found
    char runtime[NAME_MAX + 1]; // name of a sanitizer's shared library, or empty
    // The sanitizer whose runtime is linked into the program and not exported, as gcc
    // does with -static-libasan: what that finds is not reported to the handler. NULL:
    // none.
    const char *hidden;
};

// program_look examines what `command` would execute.
void program_look(const char *command, struct program *out);

// program_has_name returns true if one of names, a list that ends with NULL, is among
// the dynamic strings of the program: the names of the functions that it imports or
// exports, and of its libraries.
bool program_has_name(const struct program *program, const char *const *names);

// program_has_allocator returns true if an allocator other than libcrashhook-heap is
// linked into the program, so that its functions are called directly.
bool program_has_allocator(const struct program *program);

// program_kind_words describes kind, as in "it is statically linked".
const char *program_kind_words(enum program_kind kind);
