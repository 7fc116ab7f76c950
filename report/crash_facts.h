// SPDX-License-Identifier: Apache-2.0
//
// What is known of a crash, as a value: what the kernel told (signal, code, address,
// the processor's fault code), where the addresses in question lie, how large what
// might have run out was, and the words that the program's libraries left before they
// aborted. crash_kind.h makes one word of it, crash_summary.h a sentence.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    bool file;        // of a file, not anonymous
    bool unmapped;    // not mapped, and where it is, something most likely was
    const char *path; // of the file or image, path_size bytes
    size_t path_size; // 0: it has none
};

// The mapping that the crashed thread's stack pointer is in; end is 0 when not known.
struct crash_stack {
    uint64_t start;
    uint64_t end;
};

// A limit on memory that the process was close to.
struct crash_memory {
    const char *limit; // "RLIMIT_AS"; NULL: it was close to none
    uint64_t limit_bytes;
    uint64_t used_bytes;
};

// What the failed instruction was about to do to memory.
struct crash_operand {
    const char *expression; // "rax+rcx*8+0x18"; NULL: not known
    unsigned size;
    uint64_t address;
    bool misaligned; // for what the instruction needs
    struct crash_register {
        const char *name; // NULL: none
        uint64_t value;
    } registers[2]; // base and index
};

// How the processor came to the pc, or was about to leave it.
enum crash_way { CRASH_WAY_UNKNOWN, CRASH_WAY_RETURN, CRASH_WAY_BRANCH };

struct crash_facts {
    const char *kind; // where it is known already; NULL: crash_kind tells
    int signal;
    int code;
    uint64_t address; // the fault's, 0 where the kernel gave none
    uint64_t pc;
    uint64_t sp;
    enum crash_access access;
    bool general_protection; // x86-64: no page fault, the address is not known
    enum crash_way way;      // to where no code is
    uint64_t way_address;    // where it leads
    struct crash_operand operand;
    struct crash_register blamed; // holds the bad value: a target, a divisor
    const char *instruction;      // its text; NULL: not decoded
    bool trap;                    // it is one that compilers put where none may come
    bool sent;                    // by a process, not by a fault; sender is its pid
    bool signal_only;             // the signal is known, and neither code nor address
    int32_t sender;
    uint32_t sender_user;
    const char *sender_name; // NULL: not known
    int32_t pid;
    int32_t system_call;          // SIGSYS: the number that was refused
    uint32_t system_call_machine; // whose number it is (system_call_name.h)
    struct crash_place address_place;
    struct crash_place pc_place;
    struct crash_place sp_place;
    struct crash_stack stack;
    struct crash_memory memory;
    const char *thread_name;
    const char *message;        // what a library said before it aborted; NULL: nothing
    const char *exception_type; // of the C++ exception nobody caught; NULL: none
    const char *exception_what; // its text; NULL: not known
    const char *thrown_in;      // the function that threw it; NULL: not known
    const char *raised_in;      // the function whose panic or check it is; NULL: none
    const char
        *worded; // how version 1 began the sentence, which had not all facts; NULL
};

// crash_has_address is true where the signal's address is that of the fault.
bool crash_has_address(const struct crash_facts *facts);

// crash_is_own_abort is true where the process sent SIGABRT to itself.
bool crash_is_own_abort(const struct crash_facts *facts);
