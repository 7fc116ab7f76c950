// SPDX-License-Identifier: Apache-2.0
//
// The notes of a core file: what the kernel, gcore or qemu-user recorded of a dead
// process other than its memory. For x86-64 and aarch64, 64-bit only.
//
// A core's note segment is a run of notes; core_notes_next turns each into a value: a
// thread with its registers, the process, the signal, the auxiliary vector, the table
// of mapped files. A note of a known kind that is too short is reported, and reading
// goes on after it; other kinds are returned as CORE_NOTE_OTHER. Only small strings are
// copied, and nothing is allocated. docs/reference/cores.md says what is made of each.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"

// CORE_REGISTERS is room for the registers of either architecture.
enum { CORE_REGISTERS = 33 };

enum core_note_kind {
    CORE_NOTE_THREAD,  // NT_PRSTATUS
    CORE_NOTE_VECTORS, // NT_PRFPREG
    CORE_NOTE_STORAGE, // NT_ARM_TLS of aarch64
    CORE_NOTE_SHADOW,  // NT_X86_SHSTK, NT_ARM_GCS
    CORE_NOTE_PROCESS, // NT_PRPSINFO
    CORE_NOTE_SIGNAL,  // NT_SIGINFO
    CORE_NOTE_AUXV,    // NT_AUXV
    CORE_NOTE_FILES,   // NT_FILE
    CORE_NOTE_OTHER,
};

// A core_thread is a thread as it was when the core was written. Registers are indexed
// by DWARF number. x86-64: rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip; aarch64:
// x0..x30 sp pc.
struct core_thread {
    uint32_t tid;
    int32_t signal; // the one it stopped for; 0: none
    char state;     // as in /proc: S in a system call, else R; 0: not known
    uint64_t registers[CORE_REGISTERS];
    uint64_t flags;          // eflags, pstate
    uint64_t thread_pointer; // the base of fs; of a later note; 0: not known
    uint64_t gs_base;        // x86-64; 0: not set, or not known
    const uint8_t *vectors;  // xmm0 to xmm15 or v0 to v31, of a later note; NULL: none
    uint64_t shadow_stack;   // its pointer, of a later note; 0: none
    int64_t call; // x86-64: the system call it is in; negative: none, or not known
};

struct core_process {
    char state; // as in /proc: R S D T Z
    uint32_t pid;
    uint32_t ppid;
    uint32_t uid;
    char name[17];      // of the first thread
    char arguments[81]; // joined by spaces and truncated by the kernel
};

// A core_signal is what siginfo_t says. signal and code tell which members are valid.
struct core_signal {
    int32_t signal;
    int32_t code;
    uint64_t address;        // of a fault
    uint32_t sender_pid;     // of a signal sent by a process
    uint32_t sender_uid;     //
    uint32_t system_call;    // SIGSYS
    uint32_t protection_key; // SIGSEGV with SEGV_PKUERR
};

// A core_files is the table of mapped files, read by core_files_next.
struct core_files {
    struct cursor entries;
    struct cursor names;
    uint64_t page_size;
    uint64_t count; // entries left
};

// A core_mapping is one mapping of a file.
struct core_mapping {
    uint64_t start; // addresses
    uint64_t end;
    uint64_t offset;  // in the file
    const char *path; // in the note, terminated; with " (deleted)" where the kernel
                      // says that the file was unlinked
};

struct core_note {
    enum core_note_kind kind;
    union {
        struct core_thread thread;
        const uint8_t *vectors;  // of the thread before, in the notes' own bytes
        uint64_t thread_pointer; // of the thread before
        uint64_t shadow_stack;   // of the thread before; 0: it has none
        struct core_process process;
        struct core_signal signal;
        struct cursor auxv; // for core_auxv_next
        struct core_files files;
    };
};

// core_notes_next reads one note of a note segment and passes over it. notes has the
// core's byte order; machine is its elf_machine. CH_END: there are no more.
// CH_ERR_MALFORMED: this note is damaged; the next call continues after it.
// CH_ERR_TRUNCATED: the segment ends inside a note, and nothing more can be read.
// CH_ERR_UNSUPPORTED: another machine.
CH_CHECKED enum ch_status core_notes_next(struct cursor *notes, uint16_t machine,
                                          struct core_note *out);

// core_auxv_next reads one entry of an auxiliary vector. CH_END: there are no more.
CH_CHECKED enum ch_status core_auxv_next(struct cursor *auxv, uint64_t *out_type,
                                         uint64_t *out_value);

// core_files_next reads one mapping. CH_END: there are no more. CH_ERR_TRUNCATED: the
// table's count is larger than the table. CH_ERR_MALFORMED: the mapping is empty, or
// wraps.
CH_CHECKED enum ch_status core_files_next(struct core_files *files,
                                          struct core_mapping *out);
