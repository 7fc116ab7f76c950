// SPDX-License-Identifier: Apache-2.0
//
// The values of an instruction's registers and addresses in a report's thread.
//
// A report has the general registers of x86-64. Vector registers, and addresses that
// use a segment, whose base no report has, have no value here.
#pragma once
#include <jansson.h>

#include "symbolizer/code/instruction.h"

// instruction_register reads a register of a report's `registers` by any of its names,
// "eax" as well as "rax". false: the report does not have it, like a vector register.
bool instruction_register(const json_t *registers, const char *name, uint64_t *out);

// instruction_address gives the address of a memory operand. next: the address of the
// next instruction. false: one of its registers is not known, or it uses a segment.
bool instruction_address(const struct instruction_operand *operand,
                         const json_t *registers, uint64_t next, uint64_t *out);
