// SPDX-License-Identifier: Apache-2.0
//
// One instruction of a function that is followed (code_walk.h): AArch64, the general
// registers, the forms that compilers make of accessors.
#pragma once
#include "agent/follow/code_machine.h"

// code_step_aarch64 executes the instruction at the machine's pc. CH_ERR_UNSUPPORTED:
// it is not one of those that are understood, or depends on what is not known.
CH_CHECKED enum ch_status code_step_aarch64(struct code_machine *machine);

// An AArch64 instruction that is followed (code_walk.h): its fields and its operands.
// Encodings are from the Arm Architecture Reference Manual for A-profile, chapter C4.

enum { ARM_INSN_BYTES = 4, ARM_WIDE = 8, ARM_NARROW = 4 };

// An arm_insn is an instruction, and the machine that it is executed on.
struct arm_insn {
    struct code_machine *machine;
    uint32_t word;
};
