// SPDX-License-Identifier: Apache-2.0
//
// An instruction's registers and addresses with the values that a report's thread had.
//
// A report has the general registers of x86-64; what goes by a vector register or by a
// segment, whose beginning no report has, has no value here.
#pragma once
#include <jansson.h>

#include "symbolizer/diagnosis/instruction.h"

// instruction_register reads a register of a report's `registers` by any of its names,
// "eax" as well as "rax". false: it is not there, as a vector register.
bool instruction_register(const json_t *registers, const char *name, uint64_t *out);

// instruction_address is where a memory operand lies. next: the address of the next
// instruction. false: a register of it is not known, or it goes by a segment.
bool instruction_address(const struct instruction_operand *operand,
                         const json_t *registers, uint64_t next, uint64_t *out);
