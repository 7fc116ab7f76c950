// SPDX-License-Identifier: Apache-2.0
//
// The registers and the stack of a function that is followed (code_walk.h). A value
// that is not known can be moved, but nothing may depend on it.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "base/status.h"

enum {
    CODE_MACHINE_REGISTERS = 32, // in the processor's order: rax rcx rdx rbx rsp ...
    CODE_MACHINE_RAX = 0,
    CODE_MACHINE_RSP = 4,
    CODE_MACHINE_RBP = 5,
    CODE_MACHINE_RDI = 7,
    CODE_MACHINE_X0 = 0, // of AArch64: x0 to x30, sp
    CODE_MACHINE_X30 = 30,
    CODE_MACHINE_SP = 31,
    CODE_MACHINE_STACK_WORDS = 128,
};

// The stack is where no memory can be, so that it hides none of the target's.
#define CODE_MACHINE_STACK UINT64_C(0x8000000000000000)

// CODE_MACHINE_RETURNED is the return address of the function that is followed.
#define CODE_MACHINE_RETURNED UINT64_C(0x8000000000001000)

struct code_value {
    uint64_t number;
    bool known;
};

// code_flags are those of the last comparison, sum or logical operation.
struct code_flags {
    bool known;
    bool zero;
    bool sign;
    bool carry;
    bool overflow;
};

struct code_machine {
    const struct memory_reader *memory;
    uint64_t pc;
    struct code_value registers[CODE_MACHINE_REGISTERS];
    struct code_value stack[CODE_MACHINE_STACK_WORDS];
    struct code_flags flags;
    struct code_value thread; // the thread pointer, where a register holds it
};

// code_machine_init puts machine at the first instruction of an x86-64 function.
void code_machine_init(struct code_machine *machine, const struct memory_reader *memory,
                       uint64_t address, uint64_t argument);

// code_machine_init_aarch64 does so for a function of AArch64.
void code_machine_init_aarch64(struct code_machine *machine,
                               const struct memory_reader *memory, uint64_t address,
                               uint64_t argument);

// code_machine_load reads size bytes (1, 2, 4 or 8) from the stack or the target.
CH_CHECKED enum ch_status code_machine_load(struct code_machine *machine,
                                            uint64_t address, size_t size,
                                            struct code_value *out);

// code_machine_store writes size bytes to the stack. CH_ERR_UNSUPPORTED: the address is
// the target's.
CH_CHECKED enum ch_status code_machine_store(struct code_machine *machine,
                                             uint64_t address, size_t size,
                                             struct code_value value);

CH_CHECKED enum ch_status code_machine_push(struct code_machine *machine,
                                            struct code_value value);
CH_CHECKED enum ch_status code_machine_pop(struct code_machine *machine,
                                           struct code_value *out);

// code_machine_keep cuts a value to its low size bytes.
uint64_t code_machine_keep(uint64_t value, size_t size);
