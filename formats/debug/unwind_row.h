// SPDX-License-Identifier: Apache-2.0
//
// An unwind row says how to find a frame's caller, for a range of program counters.
//
// SFrame, DWARF CFI and frame pointers all come down to this plain data, which one
// function of unwind/ executes. Registers have their DWARF numbers. A rule gives a
// value from the canonical frame address (CFA, the caller's stack pointer at the call
// except on s390x, where it is 160 above it), a register of this frame, or a DWARF
// expression. Expressions point into the bytes they were read from.
//
// A row is filled member by member and others[] is valid up to other_count: it is never
// cleared as a whole, because that would cost time for every frame.
#pragma once
#include <stdint.h>

enum unwind_rule_kind {
    UNWIND_UNDEFINED,     // it cannot be recovered
    UNWIND_SAME,          // it has the same value as in this frame
    UNWIND_CFA_PLUS,      // CFA + offset
    UNWIND_AT_CFA,        // the word at CFA + offset
    UNWIND_REGISTER_PLUS, // register + offset
    UNWIND_AT_REGISTER,   // the word at register + offset
    UNWIND_EXPRESSION,    // the result of the expression
    UNWIND_AT_EXPRESSION, // the word at the address that the expression gives
};

struct unwind_rule {
    uint8_t kind;             // enum unwind_rule_kind
    uint16_t reg;             // REGISTER_PLUS, AT_REGISTER: its DWARF number
    uint32_t expression_size; // EXPRESSION, AT_EXPRESSION
    union {
        int64_t offset;
        const uint8_t *expression;
    };
};

// An unwind_register_rule is the rule of a register other than the frame pointer and
// the return address.
struct unwind_register_rule {
    uint16_t reg; // its DWARF number
    struct unwind_rule rule;
};

enum unwind_row_flag {
    UNWIND_SIGNAL_FRAME = 1, // the caller was interrupted by a signal, it did not call
    UNWIND_RA_MANGLED = 2,   // the return address is signed (aarch64)
    UNWIND_KEY_B = 4,        // ... with key B
    UNWIND_OUTERMOST = 8,    // there is no caller
};

enum {
#if defined(CRASHHOOK_SMALL_STACK) && defined(__x86_64__)
    UNWIND_REGISTERS_MAX = 17, // of this machine alone
#else
    UNWIND_REGISTERS_MAX = 33, // with rules, of any architecture
#endif
    UNWIND_OTHERS_MAX = UNWIND_REGISTERS_MAX - 2,

    UNWIND_AMD64_FP = 6,
    UNWIND_AMD64_SP = 7,
    UNWIND_AMD64_RA = 16,
    UNWIND_AARCH64_FP = 29,
    UNWIND_AARCH64_RA = 30,
    UNWIND_AARCH64_SP = 31,
    UNWIND_S390X_FP = 11,
    UNWIND_S390X_RA = 14,
    UNWIND_S390X_SP = 15,
    UNWIND_I386_SP = 4,
    UNWIND_I386_FP = 5,
    UNWIND_I386_RA = 8,
};

struct unwind_row {
    uint64_t start; // the first vaddr it holds for
    uint64_t end;   // the first vaddr after those
    struct unwind_rule cfa;
    struct unwind_rule ra; // SAME: still in the link register
    struct unwind_rule fp;
    uint32_t flags; // enum unwind_row_flag, or-ed
    uint32_t other_count;
    struct unwind_register_rule others[UNWIND_OTHERS_MAX];
};
