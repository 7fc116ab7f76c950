// SPDX-License-Identifier: Apache-2.0
//
// The C++ exception that nobody caught, as libstdc++ or libc++abi keeps it for the
// thread that throws: its type's name and, where std::logic_error or std::runtime_error
// is a base of the type, the text it was made with. None of the program's code is run:
// a what() that computes something else is not seen, and a virtual base is not looked
// into.
//
// All of it is the target's memory: every walk has an end, every text a limit, and what
// does not look like an exception of libstdc++'s is none. 64-bit targets only.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"

enum { EXCEPTION_TYPE_MAX = 512, EXCEPTION_WHAT_MAX = 4096 };

struct exception {
    char type[EXCEPTION_TYPE_MAX]; // readable where that is easy, else as mangled
    char what[EXCEPTION_WHAT_MAX]; // empty: not known
};

// Where to look, as the handler prepared it; 0: not known.
struct exception_place {
    uint64_t globals;   // of the thread: its __cxa_eh_globals
    uint64_t terminate; // std::terminate
    uint64_t set_terminate;
    uint64_t get_terminate; // of libc++abi
    uint64_t sp;            // of the thread
};

// exception_read reads the exception for which a thread is in std::terminate.
// CH_ERR_NOT_FOUND: there is none; somebody caught it, or nothing was thrown.
CH_CHECKED enum ch_status exception_read(const struct memory_reader *reader,
                                         const struct exception_place *place,
                                         struct exception *out);

// exception_type_name rewrites a mangled type name as people write it, where it is made
// of plain names alone ("N6ledger6closedE"); others stay as they are.
void exception_type_name(char name[static EXCEPTION_TYPE_MAX]);
