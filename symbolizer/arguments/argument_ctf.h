// SPDX-License-Identifier: Apache-2.0
//
// Arguments without debug information: the signature comes from CTF, the locations from
// the ABI, and the values are given only where the code proves that they are still
// there.
#pragma once
#include <stdint.h>

#include "symbolizer/arguments/argument_list.h"
#include "symbolizer/types/type_table.h"

// argument_ctf_list lists the arguments of call index. False: CTF has no signature of
// its function, or the function has no name.
bool argument_ctf_list(const struct argument_stack *stack, size_t index,
                       struct argument_list *out);

// Where the System V ABI of x86-64, or the procedure call standard of AArch64
// (AAPCS64), passes the arguments of a signature. These locations hold at the
// function's entry.
//
// If an argument cannot be classified (a structure with only a name, a type without a
// description), neither it nor any later argument has a known location.

enum argument_class {
    ARGUMENT_GENERAL,  // one general register
    ARGUMENT_VECTOR,   // one vector register
    ARGUMENT_SPLIT,    // several registers, one after the other
    ARGUMENT_ON_STACK, // on the stack, at the CFA plus offset
    ARGUMENT_UNPLACED,
};

// ARGUMENT_REGISTERS_MAX is the greatest number of registers of one argument.
enum { ARGUMENT_REGISTERS_MAX = 4 };

struct argument_abi_place {
    enum argument_class kind;
    bool indirect; // there is the address of the argument
    uint8_t count; // of registers
    uint8_t piece; // bytes of a split argument in each register
    uint8_t registers[ARGUMENT_REGISTERS_MAX]; // by DWARF number
    uint64_t offset; // from the CFA, the stack pointer before the call
};

// An argument_abi assigns the locations, in the order of the arguments.
struct argument_abi {
    const struct type_table *table;
    const struct argument_abi_rules *rules;
    unsigned general;
    unsigned vectors;
    uint64_t stack;
    bool lost; // an earlier argument could not be classified
};

// argument_abi_init begins with a function that returns result: some results take the
// first register of x86-64. False: the rules of that processor are not known here.
bool argument_abi_init(struct argument_abi *abi, const struct type_table *table,
                       enum unwind_arch_id arch, uint32_t result);

// argument_abi_next gives the location of the next argument.
struct argument_abi_place argument_abi_next(struct argument_abi *abi, uint32_t type);
