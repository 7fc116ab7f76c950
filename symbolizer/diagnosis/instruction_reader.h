// SPDX-License-Identifier: Apache-2.0
//
// Reads the prefixes, the opcode and the operands of an x86-64 instruction, by the
// Intel SDM, volume 2.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "symbolizer/diagnosis/instruction.h"
#include "symbolizer/diagnosis/instruction_parts.h"

enum { REX_W = 8, REX_R = 4, REX_X = 2, REX_B = 1 };
enum { PREFIX_66 = 0x66, PREFIX_F2 = 0xf2, PREFIX_F3 = 0xf3 };

// An instruction_reader is an instruction as far as it has been read.
struct instruction_reader {
    struct cursor code;
    uint64_t address;
    uint8_t rex;
    bool narrow;    // prefix 66
    bool segmented; // fs or gs
    bool padded;    // by a prefix of a segment that is not used
    bool locked;
    uint8_t repeat; // f2, f3 or 0
    bool escaped;   // an opcode of two bytes, the first of which is 0f
    uint8_t opcode;
    char form;
    uint8_t size; // of the operands
    uint8_t mode; // of ModRM
    uint8_t reg;
    uint8_t rm;
    struct instruction_parts parts;
};

// instruction_reader_begin reads the prefixes and the opcode of the instruction at
// address, whose bytes begin bytes.
void instruction_reader_begin(struct instruction_reader *d, const uint8_t *bytes,
                              size_t size, uint64_t address);

// instruction_reader_operands reads the operands into d->parts, and those in memory and
// the target of a jump into out. False: the opcode's operands are not read here.
bool instruction_reader_operands(struct instruction_reader *d,
                                 struct instruction_effects *out);

// instruction_reader_modrm reads the ModRM byte with what belongs to it; the two below
// add its operands.
void instruction_reader_modrm(struct instruction_reader *d,
                              struct instruction_effects *out);
void instruction_reader_add_rm(struct instruction_reader *d,
                               struct instruction_effects *out, uint16_t bytes);
void instruction_reader_add_reg(struct instruction_reader *d, uint16_t bytes);

// instruction_reader_constant adds a constant of stored bytes for an operand of bytes.
void instruction_reader_constant(struct instruction_reader *d, size_t stored,
                                 uint16_t bytes);

// instruction_reader_wide is how many bytes a constant has that is as wide as the
// operands.
size_t instruction_reader_wide(const struct instruction_reader *d);
