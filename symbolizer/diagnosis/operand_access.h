// SPDX-License-Identifier: Apache-2.0
//
// Whether an x86-64 instruction reads or writes its memory operand, from a table of our
// own over the opcode maps (Intel SDM volume 2, appendix A). Disassemblers keep this
// for other purposes, and theirs has errors: capstone 4 takes stores of vector
// registers for reads.
//
// The table only says what an instruction does that can be decoded; whether bytes are
// an instruction at all is the disassembler's to say.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum operand_access {
    OPERAND_UNKNOWN,
    OPERAND_UNUSED, // its address is computed, or prefetched, and never faults
    OPERAND_READ,
    OPERAND_WRITTEN,
    OPERAND_UPDATED, // read and written
};

// An operand_accesses has one member for each place that an instruction can name memory
// in. String instructions have two operands, and no others have both.
struct operand_accesses {
    enum operand_access memory;      // the one that the instruction's bytes spell
    enum operand_access source;      // at rsi
    enum operand_access destination; // at rdi
};

// operand_access_find looks up the instruction at the start of bytes. What it cannot
// read has OPERAND_UNKNOWN.
struct operand_accesses operand_access_find(const uint8_t *bytes, size_t size);
