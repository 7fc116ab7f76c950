// SPDX-License-Identifier: Apache-2.0
//
// The uncaught C++ exception, as libstdc++ or libc++abi keeps it for the throwing
// thread: its type's name and, as far as thrown_text.h can read it, its text. None of
// the program's code is run.
//
// All of it is the target's memory: every walk and every text has a limit, and what
// does not look like such an exception is taken for none. 64-bit targets only.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/live/capture.h"
#include "agent/messages/thrown_text.h"
#include "base/memory_reader.h"
#include "report/summary/crash_facts.h"
#include "shared/throw_ring.h"

enum { EXCEPTION_NESTED_WHAT_MAX = 512 };

// An exception_nested is one that was handled when another was thrown by
// std::throw_with_nested, which keeps it.
struct exception_nested {
    char type[EXCEPTION_TYPE_MAX];
    char what[EXCEPTION_NESTED_WHAT_MAX];
};

struct exception {
    char type[EXCEPTION_TYPE_MAX]; // demangled where that is easy, else as mangled
    char what[EXCEPTION_WHAT_MAX]; // empty: not known
    uint64_t object;               // address of what was thrown
    struct exception_nested nested[CRASH_NESTED_MAX]; // each in the one before
    size_t nested_count;
};

// An exception_place is where to look, as the handler prepared it; 0: not known.
struct exception_place {
    uint64_t globals;   // the thread's __cxa_eh_globals
    uint64_t terminate; // std::terminate
    uint64_t set_terminate;
    uint64_t get_terminate; // libc++abi's
    uint64_t unexpected;    // std::terminate, as an exception's header has it
    uint64_t sp;            // the thread's
    struct thrown_code code;
};

// exception_read reads the exception for which a thread is in std::terminate.
// CH_ERR_NOT_FOUND: there is none: it was caught, or nothing was thrown.
CH_CHECKED enum ch_status exception_read(const struct memory_reader *reader,
                                         const struct exception_place *place,
                                         struct exception *out);

// exception_type_name demangles a type name made of plain names alone
// ("N6ledger6closedE"); others stay as they are.
void exception_type_name(char name[static EXCEPTION_TYPE_MAX]);

// The stack that an exception was thrown with, as libcrashhook-throws keeps it in the
// program (shared/throw_ring.h). It is found by the address of the thrown object, in
// the ring of whichever thread threw it; the newest entry counts, as an address is used
// again after the exception that was there.

struct thrown_stack {
    uint8_t cbf[THROW_CBF_BYTES];
    size_t size; // 0: it is not known
    pid_t tid;   // the thread that threw
};

// thrown_stack_find looks for the stack of the exception with that object.
void thrown_stack_find(struct capture *capture, uint64_t object,
                       struct thrown_stack *out);

// thrown_stack_read looks for it in the state at address.
void thrown_stack_read(const struct memory_reader *reader, uint64_t state,
                       uint64_t object, struct thrown_stack *out);

// Where the C and C++ runtimes keep their last messages, for targets in which no
// handler prepared it: cores, and a libstdc++ that dlopen loaded after the handler was
// installed. They are looked up by name in the images' memory; none of the process's
// code is run.

// runtime_find_abort_message is the address of glibc's __abort_msg; 0: not known.
uint64_t runtime_find_abort_message(const struct capture *capture);

// runtime_find_streams is the address of glibc's pointer to its first stream; 0: not
// known.
uint64_t runtime_find_streams(const struct capture *capture);

// runtime_find_assert_fail is the address of the C library's __assert_fail; 0: not
// known.
uint64_t runtime_find_assert_fail(const struct capture *capture);

// runtime_find_exceptions fills in the members of place that are 0. The location of the
// thread's exceptions is decoded from the code of __cxa_get_globals, on x86-64.
void runtime_find_exceptions(const struct capture *capture,
                             struct exception_place *place);
