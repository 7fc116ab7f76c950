// SPDX-License-Identifier: Apache-2.0
//
// Where the System V convention of x86-64 passes the arguments of a signature: its
// natural locations, which hold when the function begins.
//
// What cannot be classified (a structure that only its name is known of, a type without
// a description) leaves that argument and all after it without a place.
#pragma once
#include <stdint.h>

#include "symbolizer/types/type_table.h"

enum argument_class {
    ARGUMENT_GENERAL,  // one general register
    ARGUMENT_VECTOR,   // vector registers, which are not kept
    ARGUMENT_SPLIT,    // several registers
    ARGUMENT_ON_STACK, // at the CFA plus offset
    ARGUMENT_UNPLACED,
};

struct argument_abi_place {
    enum argument_class kind;
    uint8_t reg;     // by DWARF number
    uint64_t offset; // from the CFA, which is the stack pointer before the call
};

// An argument_abi hands out the places, in the order of arguments.
struct argument_abi {
    const struct type_table *table;
    unsigned general;
    unsigned vectors;
    uint64_t stack;
    bool lost; // what was before could not be classified
};

// argument_abi_init begins with a function that returns result: some results take the
// first register.
void argument_abi_init(struct argument_abi *abi, const struct type_table *table,
                       uint32_t result);

// argument_abi_next gives the place of the next argument.
struct argument_abi_place argument_abi_next(struct argument_abi *abi, uint32_t type);
