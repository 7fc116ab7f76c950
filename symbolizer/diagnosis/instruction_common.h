// SPDX-License-Identifier: Apache-2.0
//
// Decodes the effects of the x86-64 instructions that nearly all of compilers' code
// consists of: those of the general registers, and of SSE and SSE2. The opcodes and
// their operands are those of the Intel SDM, volume 2.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/diagnosis/instruction.h"

// instruction_common_effects decodes the instruction at address, whose bytes begin
// bytes. False: it is another one, or none, and out is unspecified.
bool instruction_common_effects(const uint8_t *bytes, size_t size, uint64_t address,
                                struct instruction_effects *out);
