// SPDX-License-Identifier: Apache-2.0
//
// An AArch64 instruction that is followed (code_walk.h): its fields and its operands.
// Encodings are from the Arm Architecture Reference Manual for A-profile, chapter C4.
#pragma once
#include "agent/follow/code_machine.h"

enum { ARM_INSN_BYTES = 4, ARM_WIDE = 8, ARM_NARROW = 4 };

// An arm_insn is an instruction, and the machine that it is executed on.
struct arm_insn {
    struct code_machine *machine;
    uint32_t word;
};

// arm_insn_bits gives count bits of the instruction from bit `from` on.
unsigned arm_insn_bits(const struct arm_insn *insn, unsigned from, unsigned count);

// arm_insn_signed gives these bits as a signed number.
int64_t arm_insn_signed(const struct arm_insn *insn, unsigned from, unsigned count);

// arm_insn_size is the bytes of the operands of an instruction on registers.
size_t arm_insn_size(const struct arm_insn *insn);

// arm_insn_get gives the low size bytes of a register; number 31 is zero.
struct code_value arm_insn_get(const struct arm_insn *insn, unsigned number,
                               size_t size);

// arm_insn_get_or_sp does so where number 31 is the stack pointer.
struct code_value arm_insn_get_or_sp(const struct arm_insn *insn, unsigned number,
                                     size_t size);

// arm_insn_put writes size bytes to a register and clears the rest; number 31 is none.
void arm_insn_put(const struct arm_insn *insn, unsigned number, size_t size,
                  struct code_value value);

// arm_insn_put_or_sp does so where number 31 is the stack pointer.
void arm_insn_put_or_sp(const struct arm_insn *insn, unsigned number, size_t size,
                        struct code_value value);

// arm_insn_known is a value that is known.
struct code_value arm_insn_known(uint64_t number);

// arm_insn_extend widens a signed value of bits bits.
uint64_t arm_insn_extend(uint64_t value, unsigned bits);

// arm_insn_widened gives the value of an index register, widened as the instruction
// says, and shifted.
struct code_value arm_insn_widened(const struct arm_insn *insn, unsigned shift);

// arm_insn_condition evaluates a condition code. CH_ERR_UNSUPPORTED: it depends on what
// is not known.
CH_CHECKED enum ch_status arm_insn_condition(const struct arm_insn *insn, unsigned code,
                                             bool *out);
