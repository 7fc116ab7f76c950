// SPDX-License-Identifier: Apache-2.0
//
// The stack machine of DWARF expressions (DWARF 5, section 2.5): the operations that
// unwind rules and variable locations have in common.
//
// The caller decodes the operations and passes them one by one, from the bytes of an
// unwind rule or from what a library decoded of a variable's location. The machine
// reads the target's registers and memory and changes nothing. Expressions are
// untrusted input, so the operations and the stack are limited; the longest real
// expressions have some twenty operations.
#pragma once
#include <stdint.h>

#include "base/memory_reader.h"
#include "base/status.h"
#include "unwind/unwind_types.h"

enum {
    DWARF_MACHINE_STACK_MAX = 64,
    DWARF_MACHINE_OPERATIONS_MAX = 4096,
};

// A dwarf_operation has its operands with their signs extended.
struct dwarf_operation {
    uint8_t code;
    uint64_t number;
    uint64_t number2;
};

struct dwarf_machine {
    const struct memory_reader *memory;
    const struct unwind_registers *registers;
    uint64_t known;        // bit n: register n may be read
    enum ch_status status; // the first failure
    int jump;              // bytes from the end of this operation to the next one
    unsigned operations;   // done so far
    unsigned depth;
    uint64_t stack[DWARF_MACHINE_STACK_MAX];
};

// dwarf_machine_do executes one operation. m->status: CH_ERR_NOT_FOUND, a register is
// not known; CH_ERR_UNSUPPORTED, the operation needs more than the stack, registers and
// memory; CH_ERR_FAULT, memory cannot be read.
void dwarf_machine_do(struct dwarf_machine *m, const struct dwarf_operation *op);

// dwarf_machine_push and dwarf_machine_pop serve operations that a caller adds.
void dwarf_machine_push(struct dwarf_machine *m, uint64_t value);
uint64_t dwarf_machine_pop(struct dwarf_machine *m);

// dwarf_machine_fail sets the status, unless an earlier failure has set it.
void dwarf_machine_fail(struct dwarf_machine *m, enum ch_status status);
