// SPDX-License-Identifier: Apache-2.0
//
// One machine instruction taken apart: what it reads or writes, and through which
// registers. x86-64 only, by capstone, which is loaded when it is needed and may be
// missing, here or where the project was built; then nothing is decoded.
//
// The bytes are those of a program that crashed, so they are decoded in a child process
// that may crash as well.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum {
    INSTRUCTION_BYTES_MAX = 15,
    INSTRUCTION_OPERANDS_MAX = 4,
    INSTRUCTION_NAME_MAX = 8,
    INSTRUCTION_TEXT_MAX = 128,
};

enum instruction_form {
    INSTRUCTION_ORDINARY,
    INSTRUCTION_RETURN,
    INSTRUCTION_BRANCH,    // a jump or a call
    INSTRUCTION_UNDEFINED, // one that is illegal for good, as ud2
    INSTRUCTION_DIVIDE,
};

// An operand is a register (name), or memory at base + index * scale + displacement.
struct instruction_operand {
    bool memory;
    bool written;
    uint8_t size; // bytes
    uint8_t scale;
    char name[INSTRUCTION_NAME_MAX];
    char segment[INSTRUCTION_NAME_MAX]; // empty: the usual one
    char base[INSTRUCTION_NAME_MAX];    // empty: none
    char index[INSTRUCTION_NAME_MAX];
    int64_t displacement;
};

struct instruction {
    char mnemonic[32];
    char text[INSTRUCTION_TEXT_MAX]; // all of it, in Intel's syntax
    uint8_t length;
    enum instruction_form form;
    struct instruction_operand operands[INSTRUCTION_OPERANDS_MAX];
    size_t operand_count;
};

// Where an instruction goes on.
enum instruction_flow {
    INSTRUCTION_NEXT,
    INSTRUCTION_JUMPS,    // to its target alone
    INSTRUCTION_MAY_JUMP, // to its target or the next one
    INSTRUCTION_CALLS,    // and comes back
    INSTRUCTION_ENDS,     // returns, or cannot go on
    INSTRUCTION_ANYWHERE, // jumps to what is in a register or in memory
};

// INSTRUCTION_NO_REGISTER stands where there is none, INSTRUCTION_PC for the address of
// the next instruction.
#define INSTRUCTION_NO_REGISTER 0xff
#define INSTRUCTION_PC 16

// What an instruction does, as far as values are followed through it.
enum instruction_action {
    INSTRUCTION_DOES_OTHER,
    INSTRUCTION_MOVES,     // register from to register to
    INSTRUCTION_SETS,      // register to to constant
    INSTRUCTION_ADDS,      // constant to register to
    INSTRUCTION_ADDRESSES, // register to to where the memory operand lies
    INSTRUCTION_LOADS,     // register to from memory
    INSTRUCTION_STORES,    // register from to memory
    INSTRUCTION_PUSHES,    // register from, or something else
    INSTRUCTION_POPS,      // register to, or something else
    INSTRUCTION_LEAVES,    // the stack pointer from rbp, then pops rbp
};

// instruction_memory is a memory operand, at base + index * scale + displacement.
struct instruction_memory {
    bool used;
    bool read;
    bool written;
    uint8_t base;
    uint8_t index;
    uint8_t bytes; // 0: not known, or many
    int64_t displacement;
};

// instruction_effects is what an instruction does to the 16 general registers, which
// have their DWARF numbers, and to the flow of control.
struct instruction_effects {
    uint8_t length;
    enum instruction_flow flow;
    bool repeats; // it may be found half done: what it writes, changed in part
    enum instruction_action action;
    uint8_t from;
    uint8_t to;
    uint8_t bytes;    // how much of from, or of memory, comes over
    int64_t constant; // that is set, or added
    uint64_t target;  // of a direct jump or call; 0: it is not direct
    uint16_t written; // bit N: register N, or a part of it
    uint16_t named;   // bit N: an operand is register N, or a part of it
    struct instruction_memory memory;
};

// instruction_read_effects decodes the instruction at address that bytes begin with.
// Errors are those of instruction_decode.
CH_CHECKED enum ch_status instruction_read_effects(const uint8_t *bytes, size_t size,
                                                   uint64_t address,
                                                   struct instruction_effects *out);

// instruction_decode decodes the instruction that bytes begin with. CH_ERR_MALFORMED:
// they are none. CH_ERR_UNSUPPORTED: there is no disassembler.
CH_CHECKED enum ch_status instruction_decode(const uint8_t *bytes, size_t size,
                                             struct instruction *out);

// instruction_decode_guarded does so in a child process with limits. CH_ERR_FAULT: it
// came to grief.
CH_CHECKED enum ch_status instruction_decode_guarded(const uint8_t *bytes, size_t size,
                                                     struct instruction *out);
