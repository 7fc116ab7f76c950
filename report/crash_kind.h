// SPDX-License-Identifier: Apache-2.0
//
// What kind of crash it was, and one sentence that says so to a person.
//
// A pure function of what the kernel told (signal, code, address, the processor's fault
// code), of where the addresses in question lie, and of the words that the C and C++
// libraries left before they aborted. It claims no more than those show:
// what they leave open is "unknown".
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum crash_access {
    CRASH_ACCESS_UNKNOWN,
    CRASH_ACCESS_READ,
    CRASH_ACCESS_WRITE,
    CRASH_ACCESS_EXECUTE,
};

// Where an address lies.
struct crash_place {
    bool mapped;
    bool readable;
    bool writable;
    bool executable;
    bool file; // of a file, not anonymous
};

struct crash_facts {
    int signal;
    int code;
    uint64_t address; // the fault's, 0 where the kernel gave none
    uint64_t pc;
    uint64_t sp;
    enum crash_access access;
    bool general_protection; // x86-64: no page fault, the address is not known
    bool sent;               // by a process, not by a fault; sender is its pid
    bool signal_only;        // the signal is known, and neither code nor address
    int32_t sender;
    int32_t pid;
    int32_t system_call; // SIGSYS: the number that was refused
    struct crash_place address_place;
    struct crash_place pc_place;
    struct crash_place sp_place;
    const char *thread_name;
    const char *message; // what the C library said before it aborted; NULL: nothing
    const char *exception_type; // of the C++ exception nobody caught; NULL: none
    const char *exception_what; // its text; NULL: not known
};

// crash_kind is the report's crash.kind ("null-dereference").
const char *crash_kind(const struct crash_facts *facts);

// crash_summary appends the sentence for crash.summary.
void crash_summary(const struct crash_facts *facts, struct text *out);

// crash_message appends the text for crash.message, or nothing where there is none.
void crash_message(const struct crash_facts *facts, struct text *out);

// crash_has_address is true where the signal's address is that of the fault.
bool crash_has_address(const struct crash_facts *facts);
