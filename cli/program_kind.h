// SPDX-License-Identifier: Apache-2.0
//
// What kind of program a command is, told from the file that would be executed: whether
// the handler can be preloaded into it, and whether that does it good.
//
// The file is found as execvp finds it, and a script stands for its interpreter. It may
// be anything: what is read of it is bounded, and a file that cannot be read, or is no
// program, is left to exec to judge.
#pragma once
#include <limits.h>
#include <stdbool.h>

enum program_kind {
    PROGRAM_DYNAMIC,     // preloaded: of this machine and C library
    PROGRAM_SANITIZED,   // preloaded after its sanitizer's runtime
    PROGRAM_HAS_HANDLER, // static, with our handler linked
    PROGRAM_PRIVILEGED,  // it gains privileges, and takes nothing from the environment
    PROGRAM_STATIC,      // no library can be preloaded
    PROGRAM_GO,          // its runtime's handlers want to be the first
    PROGRAM_OTHER_LIBC,  // another C library than ours
    PROGRAM_FOREIGN,     // of another machine, or of 32 bits
    PROGRAM_UNKNOWN,     // it cannot be read
};

struct program {
    enum program_kind kind;
    char path[PATH_MAX];        // of the file that is executed; empty: not found
    char runtime[NAME_MAX + 1]; // of a sanitizer that is a library: its name; or empty
};

// program_look finds out what `command` would execute.
void program_look(const char *command, struct program *out);

// program_has_name is whether one of names, a list that ends with NULL, is among the
// dynamic strings of the program: those of functions that it takes from libraries or
// gives to them, and of its libraries.
bool program_has_name(const struct program *program, const char *const *names);

// program_kind_words says what kind is, as in "it is statically linked".
const char *program_kind_words(enum program_kind kind);
