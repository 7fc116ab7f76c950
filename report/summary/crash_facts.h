// SPDX-License-Identifier: Apache-2.0
//
// What is known of a crash, as a value: what the kernel reported (signal, code,
// address, the processor's fault code), where the addresses in question are, the sizes
// of what may have been exhausted, and the messages that the program's libraries left
// before they aborted. crash_kind.h makes one word of it, crash_summary.h a sentence.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "report/summary/crash_heap.h"
#include "shared/crash_kinds.h"

// Where a bad value came from (crash.provenance), as facts and in words.
//
// The report has the facts; the words are made of them whenever it is read, for the
// sentence and for the member `detail`.

// A crash_origin points into the report. What its kind does not have is 0 or NULL.
struct crash_origin {
    const char *kind; // NULL: not known
    const char *register_name;
    const char *address; // as the report has it, like the next ones
    const char *next;
    const char *text;
    const char *filler;
    const char *holder;
    const char *image;
    const char *variable; // truncated: what has the 4 bytes, and where they became
    const char *file;     // a pointer
    int64_t line;
    const char *member; // null-offset: what the pointer was followed to
    int64_t bit;
    int64_t thread;
    int64_t offset;
};

// crash_origin_append appends the words: "rax is what malloc put ...". False:
// there are none.
bool crash_origin_append(const struct crash_origin *origin, struct text *out);

// crash_origin_is_said returns true if the sentence says as much without these words.
bool crash_origin_is_said(const struct crash_origin *origin);

// The variable at fault: which of the program's variables held the bad value
// (crash.variable), as a fact and in the words of the sentence.

// CRASH_NESTED_MAX is the number of exceptions in each other that are reported.
enum { CRASH_NESTED_MAX = 3 };

// A crash_nested is the exception that another was thrown with, to say why.
struct crash_nested {
    const char *type;
    const char *what; // NULL: not known
};

// A crash_variable points into the report.
struct crash_variable {
    const char *expression; // as in the source: `item->next`; NULL: not known
    const char *function;   // whose source says so; NULL: not known
    const char *role;    // "local", "argument", "global"; NULL: it is no plain variable
    const char *address; // the value of a pointer; NULL: null, or no pointer
    bool is_number;
    int64_t number;
    uint64_t elements;     // of the array that the number is outside of; 0: none
    const char *array;     // that array's name
    const char *container; // what it is: "vector", "block"; NULL: an array
    const char *state;     // of a block that was freed: "stack", "image", "misaligned",
                           // "text"; NULL: not known
    const char *text;      // that stands in the place of its size
    uint64_t block_bytes;  // its size; 0: not known
    bool bytes;            // elements are bytes, and the number is a length
};

// crash_variable_append appends the clause: "`p`, a local of f, is null".
void crash_variable_append(const struct crash_variable *variable, struct text *out);

// A crash_nearest is the object of the program beside which the address is
// (crash.nearest).
struct crash_nearest {
    const char *object; // as in the source; NULL: not known
    const char *container;
    const char *side; // "after", "before"
    uint64_t bytes;   // of the object
    uint64_t distance;
};

// crash_nearest_append appends the clause: "8 bytes after the array `table` (64
// bytes)".
void crash_nearest_append(const struct crash_nearest *nearest, struct text *out);

// A crash_return is a return address that was overwritten: it differs from the copy on
// the processor's shadow stack (threads[].overwritten).
struct crash_return {
    const char *function; // that would have returned; NULL: not known
    uint64_t expected;    // 0: none is known to be overwritten
    uint64_t found;
};

// crash_return_append appends the clause: "the return address of parse was 0x401136,
// found 0x4141414141414141".
void crash_return_append(const struct crash_return *overwritten, struct text *out);

enum crash_access {
    CRASH_ACCESS_UNKNOWN,
    CRASH_ACCESS_READ,
    CRASH_ACCESS_WRITE,
    CRASH_ACCESS_EXECUTE,
};

// crash_place is where an address is.
struct crash_place {
    bool mapped;
    bool readable;
    bool writable;
    bool executable;
    bool file;        // it maps a file, not anonymous memory
    bool unmapped;    // it is not mapped, but most likely was
    const char *path; // of the file or image, path_size bytes
    size_t path_size; // 0: it has none
};

// crash_stack is the mapping of the crashed thread's stack pointer; end is 0 if
// unknown. The first thread's stack grows: what is mapped is what it has used so far.
struct crash_stack {
    uint64_t start;
    uint64_t end;
    bool grows;
    uint64_t limit_bytes; // how far it may grow; 0: not known, or it does not grow
};

// crash_memory is a limit on memory that the process was close to.
struct crash_memory {
    const char *limit; // "RLIMIT_AS"; NULL: it was close to none
    uint64_t limit_bytes;
    uint64_t used_bytes;
};

// crash_operand is the memory operand of the instruction that failed.
struct crash_operand {
    const char *expression; // "rax+rcx*8+0x18"; NULL: not known
    unsigned size;
    uint64_t address;
    bool misaligned; // less aligned than the instruction requires
    struct crash_register {
        const char *name; // NULL: none
        uint64_t value;
    } registers[2]; // base and index
};

// crash_check is a check that ended the program: by whom ("ubsan", "fortify",
// "malloc"), and of what.
struct crash_check {
    const char *by; // NULL: none
    const char *name;
};

// crash_way is how control reached the pc, or was about to leave it.
enum crash_way { CRASH_WAY_UNKNOWN, CRASH_WAY_RETURN, CRASH_WAY_BRANCH };

// A crash_chunk is the chunk of malloc's heap that is damaged.
struct crash_chunk {
    uint64_t address;  // of its block, as malloc gives it; 0: no damage was found
    const char *field; // "size", "previous-size", or "next-free" of a freed block
    uint64_t size;     // of the freed block
    uint64_t value;    // what the field has
    bool is_text;      // that is characters
    const char *text;  // these; NULL: none, or texts are masked
    uint64_t before;   // the block before it; 0: it is the heap's first
    uint64_t before_size;
    const char *before_text; // how that begins, if it is text
    bool runs_on;            // text runs from its begin over the field
};

// crash_chunk_append appends what is wrong with it to the sentence.
void crash_chunk_append(const struct crash_chunk *chunk, struct text *out);

struct crash_facts {
    enum crash_kind kind;        // if it is known already; 0: crash_kind determines it
    enum crash_kind termination; // the kind of an end that no handler saw; 0: a crash
    int signal;
    int code;
    uint64_t address; // the fault's address, 0 if the kernel gave none
    uint64_t pc;
    uint64_t sp;
    enum crash_access access;
    enum crash_way way;   // to an address without code
    uint64_t way_address; // that address
    struct crash_operand operand;
    struct crash_register blamed; // holds the bad value: a target, a divisor
    const char *instruction;      // its text; NULL: not decoded
    bool general_protection;    // x86-64: not a page fault, so the address is not known
    bool trap;                  // compilers emit it where control must never arrive
    bool sent;                  // by a process, not by a fault; sender is its pid
    bool watchdog;              // the program's own watchdog sent the signal
    bool deadlock;              // threads wait for one another in a circle
    bool signal_only;           // only the signal is known, neither code nor address
    bool rethrown;              // thrown_in threw an exception that was thrown before
    const char *deadlock_words; // of deadlock; NULL: there is none
    int32_t sender;
    uint32_t sender_user;
    const char *sender_name; // NULL: not known
    bool had_children;       // of a sender that is the process itself: one has ended
    int32_t pid;
    int32_t system_call;          // SIGSYS: the number that was refused
    uint32_t system_call_machine; // its architecture (system_call_name.h)
    int memory_tag;               // of a fault of kind memory-tag; negative: not known
    uint32_t protection_key;      // of a fault of kind protection-key
    struct crash_place address_place;
    struct crash_place pc_place;
    struct crash_place sp_place;
    struct crash_stack stack;
    struct crash_memory memory;
    struct crash_heap heap;   // what is known of a misused block
    struct crash_chunk chunk; // of a heap that malloc found damaged
    const char *thread_name;
    const char *message; // last message of a library before it aborted; NULL: none
    const char *exception_type; // of the C++ exception that nobody caught; NULL: none
    const char *exception_what; // its text; NULL: not known
    struct crash_nested nested[CRASH_NESTED_MAX]; // in it; a NULL type ends them
    const char *thrown_in;          // the function that threw it; NULL: not known
    const char *raised_in;          // the function that panicked or checked; NULL: none
    struct crash_origin origin;     // of the bad value
    struct crash_variable variable; // that held the bad value
    struct crash_nearest nearest;   // to the address
    struct crash_return overwritten;
    const char *reason; // why a runtime gave up; NULL: not known
    struct crash_check check;
    const char *worded; // how version 1 began the sentence; NULL: facts tell
};

// crash_has_address is true if the signal's address is the address of the fault.
bool crash_has_address(const struct crash_facts *facts);

// crash_is_own_abort is true if the process sent SIGABRT to itself.
bool crash_is_own_abort(const struct crash_facts *facts);
