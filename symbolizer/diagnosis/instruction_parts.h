// SPDX-License-Identifier: Apache-2.0
//
// The operands of one x86-64 instruction, as far as its effects depend on them, and the
// rules that give the effects. Both decoders hand their instructions in in this form.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/diagnosis/instruction.h"

enum instruction_part_kind {
    INSTRUCTION_PART_OTHER, // such as a vector register
    INSTRUCTION_PART_REGISTER,
    INSTRUCTION_PART_MEMORY,
    INSTRUCTION_PART_CONSTANT,
};

// An instruction_part is one operand.
struct instruction_part {
    enum instruction_part_kind kind;
    uint8_t reg;      // the DWARF number of a general register
    bool high;        // bits 8 to 15 of that register: ah, bh, ch or dh
    bool segmented;   // memory at an address that a segment is added to
    uint16_t bytes;   // 0: not known
    int64_t constant; // with its sign extended
};

// instruction_operation tells apart what the rules differ for.
enum instruction_operation {
    INSTRUCTION_COMPUTES, // writes its first operand, in a way that is not tracked
    INSTRUCTION_READS,    // writes none of its operands
    INSTRUCTION_COPIES,
    INSTRUCTION_EXTENDS, // copies a part into a whole register
    INSTRUCTION_EXTENDS_EAX,
    INSTRUCTION_ADDITION,
    INSTRUCTION_SUBTRACTION,
    INSTRUCTION_XOR,
    INSTRUCTION_ADDRESS,   // lea
    INSTRUCTION_EXCHANGES, // writes all of its operands
    INSTRUCTION_PUSH,
    INSTRUCTION_POP,
    INSTRUCTION_LEAVE,
};

struct instruction_parts {
    enum instruction_operation operation;
    uint8_t count;
    struct instruction_part part[INSTRUCTION_OPERANDS_MAX];
};

// instruction_parts_effects adds to out what the operands are and what is done with
// them. The caller has stored length, flow, target and memory, and in written the
// registers that are written without being operands.
void instruction_parts_effects(const struct instruction_parts *parts,
                               struct instruction_effects *out);
