// SPDX-License-Identifier: Apache-2.0
//
// Decodes one machine instruction: what it reads or writes, and through which
// registers. x86-64 is decoded by Zydis; where it is missing, nothing is known of its
// instructions. Those of AArch64 are decoded here, and most of them have no text where
// Capstone is missing. Both libraries are loaded when they are needed.
//
// The bytes are those of a crashed program and untrusted, so they are decoded in a
// child process that may crash as well.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum {
    INSTRUCTION_BYTES_MAX = 15,
    INSTRUCTION_OPERANDS_MAX = 5,
    INSTRUCTION_NAME_MAX = 8,
    INSTRUCTION_TEXT_MAX = 128,
};

enum instruction_set { INSTRUCTION_X86_64, INSTRUCTION_AARCH64 };

enum instruction_form {
    INSTRUCTION_ORDINARY,
    INSTRUCTION_RETURN,
    INSTRUCTION_BRANCH,    // a jump or a call
    INSTRUCTION_UNDEFINED, // permanently undefined, such as ud2
    INSTRUCTION_DIVIDE,
};

enum operand_access {
    OPERAND_UNKNOWN,
    OPERAND_UNUSED, // its address is computed, or prefetched, and never faults
    OPERAND_READ,
    OPERAND_WRITTEN,
    OPERAND_UPDATED, // read and written
};

// An instruction_operand is a register (name), or memory at base + index * scale +
// displacement.
struct instruction_operand {
    bool memory;
    enum operand_access access; // of memory
    uint64_t size;              // bytes; 0: not known
    uint8_t scale;
    char name[INSTRUCTION_NAME_MAX];
    bool segmented;                  // the base of fs or gs is added
    char base[INSTRUCTION_NAME_MAX]; // empty: none
    char index[INSTRUCTION_NAME_MAX];
    bool index_signed; // the index has 4 bytes and a sign
    bool base_signed;  // the base is a pointer with an authentication code
    int64_t displacement;
    // The register that has the size, where one has it (MOPS of AArch64); if it may be
    // less than zero, the memory is then before the base.
    char length[INSTRUCTION_NAME_MAX];
    bool length_signed;
};

struct instruction {
    char text[INSTRUCTION_TEXT_MAX]; // the whole instruction, in Intel syntax
    uint8_t length;
    enum instruction_form form;
    struct instruction_operand operands[INSTRUCTION_OPERANDS_MAX];
    size_t operand_count;
};

// instruction_flow is where execution continues.
enum instruction_flow {
    INSTRUCTION_NEXT,
    INSTRUCTION_JUMPS,    // only to its target
    INSTRUCTION_MAY_JUMP, // to its target or to the next instruction
    INSTRUCTION_CALLS,    // and returns
    INSTRUCTION_ENDS,     // returns, or cannot continue
    INSTRUCTION_ANYWHERE, // jumps to an address in a register or in memory
};

// INSTRUCTION_NO_REGISTER means none, INSTRUCTION_PC the address of the next
// instruction.
#define INSTRUCTION_NO_REGISTER 0xff
#define INSTRUCTION_PC 0x40

// instruction_action is what an instruction does, as far as values can be tracked
// through it.
enum instruction_action {
    INSTRUCTION_DOES_OTHER,
    INSTRUCTION_MOVES,     // register from to register to
    INSTRUCTION_SETS,      // register to to constant
    INSTRUCTION_ADDS,      // constant to register to
    INSTRUCTION_SUMS,      // register from to register to
    INSTRUCTION_ADDRESSES, // the address of the memory operand to register to
    INSTRUCTION_LOADS,     // register to from memory
    INSTRUCTION_STORES,    // register from to memory
    INSTRUCTION_PUSHES,    // register from, or something else
    INSTRUCTION_POPS,      // register to, or something else
    INSTRUCTION_LEAVES,    // rbp to the stack pointer, then pops rbp
};

// An instruction_memory is a memory operand, at base + index * scale + displacement.
struct instruction_memory {
    bool used;
    bool read;
    bool written;
    bool segmented; // the base of fs or gs is added
    uint8_t base;
    uint8_t index;
    bool index_word;   // its lower 4 bytes
    bool index_signed; // with their sign
    uint8_t scale;
    uint8_t bytes; // 0: not known, or more than 64
    int64_t displacement;
};

// instruction_effects are what an instruction does to the general registers, by their
// DWARF numbers, and to the flow of control.
struct instruction_effects {
    uint8_t length;
    enum instruction_flow flow;
    bool repeats; // it may have been interrupted with part of its writes done
    enum instruction_action action;
    uint8_t from;
    uint8_t to;
    uint8_t bytes;     // how many bytes of from, or of memory, are transferred
    bool takes_thread; // AArch64: sets register to to the thread pointer
    bool is_pair;      // the bytes after these are loaded to second, or stored from it
    uint8_t second;
    int64_t base_added; // to the base of memory, after the access
    int64_t constant;   // the constant that is set or added
    uint64_t target;    // of a direct jump or call; else 0
    uint32_t written;   // bit N: writes register N or a part of it
    uint32_t named;     // bit N: an operand is register N or a part of it
    struct instruction_memory memory;
};

// instruction_read_effects_x86_64 decodes the instruction at address, whose bytes begin
// bytes. Errors are those of instruction_decode.
CH_CHECKED enum ch_status
instruction_read_effects_x86_64(const uint8_t *bytes, size_t size, uint64_t address,
                                struct instruction_effects *out);

// instruction_read_effects_aarch64 does so for AArch64, where the stack pointer has the
// number 31.
CH_CHECKED enum ch_status
instruction_read_effects_aarch64(const uint8_t *bytes, size_t size, uint64_t address,
                                 struct instruction_effects *out);

// instruction_decode decodes the x86-64 instruction at the start of bytes.
// CH_ERR_MALFORMED: they are none. CH_ERR_UNSUPPORTED: there is no disassembler.
CH_CHECKED enum ch_status instruction_decode(const uint8_t *bytes, size_t size,
                                             struct instruction *out);

// instruction_decode_aarch64 does so for AArch64. Of instructions that access memory
// the text may be empty.
CH_CHECKED enum ch_status instruction_decode_aarch64(const uint8_t *bytes, size_t size,
                                                     struct instruction *out);

// instruction_print_x86_64 writes the text of the x86-64 instruction at address, in
// which jumps and operands that are relative to it are addresses, and gives its length.
// Errors are those of instruction_decode.
CH_CHECKED enum ch_status
instruction_print_x86_64(const uint8_t *bytes, size_t size, uint64_t address,
                         char out[static INSTRUCTION_TEXT_MAX], size_t *out_length);

// instruction_operand_aarch64 gives what an AArch64 instruction accesses. False: no
// memory, or it is not known.
bool instruction_operand_aarch64(uint32_t word, struct instruction_operand *out);

// instruction_bulk_aarch64 gives the destination, and the source if there is one, of an
// AArch64 instruction that copies or sets memory (MOPS). Returns their number; 0: it is
// none of these.
size_t instruction_bulk_aarch64(uint32_t word,
                                struct instruction_operand out[static 2]);

// instruction_text_aarch64 gives the text of an AArch64 instruction as the disassembler
// has it; instruction_print_aarch64 gives it of those that this one does not know, too.
CH_CHECKED enum ch_status
instruction_text_aarch64(const uint8_t bytes[static 4], uint64_t address,
                         char out[static INSTRUCTION_TEXT_MAX]);
CH_CHECKED enum ch_status
instruction_print_aarch64(const uint8_t *bytes, size_t size, uint64_t address,
                          char out[static INSTRUCTION_TEXT_MAX], size_t *out_length);

// instruction_decode_guarded decodes in a child process with limits. CH_ERR_FAULT: the
// child crashed.
CH_CHECKED enum ch_status instruction_decode_guarded(enum instruction_set set,
                                                     const uint8_t *bytes, size_t size,
                                                     struct instruction *out);

// instruction_decode_ahead starts the child that instruction_decode_guarded, asked for
// the same bytes later, takes the answer of. It works on one question at a time.
void instruction_decode_ahead(enum instruction_set set, const uint8_t *bytes,
                              size_t size);
