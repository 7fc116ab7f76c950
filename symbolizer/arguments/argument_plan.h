// SPDX-License-Identifier: Apache-2.0
//
// What debug information says of the variables at one place of the code: which there
// are, of which types, and where each of them is. All frames at a place have this in
// common, and finding it takes ten times as long as the values of one frame.
#pragma once
#include "symbolizer/arguments/argument_stack.h"

// ARGUMENT_LOCALS_MAX limits the local variables of one frame.
enum { ARGUMENT_LOCALS_MAX = 128 };

// ARGUMENT_PLAIN_MAX is the size of the largest array whose values are looked for among
// those before.
enum { ARGUMENT_PLAIN_MAX = 512 };

enum argument_plan_kind {
    ARGUMENT_PLAN_PARAMETERS,
    ARGUMENT_PLAN_LOCALS,
    ARGUMENT_PLAN_BASE, // one, the base of the function's frame
};

// An argument_planned is one of the variables.
struct argument_planned {
    const char *name; // NULL: none
    uint32_t type;
    enum ch_status found; // CH_OK: it has a location here; else why it has none
    bool constant;        // it has the same value everywhere
    bool listed;          // its location is from a list
    bool passed;          // it was passed in a register:
    uint8_t passed_in;
    bool reference;
    bool local;     // a local variable
    uint8_t scope;  // of a local variable: how deep its block is in the function
    uint16_t plain; // bytes that the value depends on alone, or 0 (type_value.h)
    Dwarf_Attribute attribute; // of its location, or its value
    Dwarf_Op *ops;             // of its location
    size_t count;
    json_t *index; // in its list, its name and its type, for the report; NULL: none
    json_t *shown_name;
    json_t *shown_type;
};

// An argument_plan lists the variables of a scope: a function, or a call inlined into
// it. Its image owns it.
struct argument_plan {
    const void *scope;
    uint64_t vaddr;
    enum argument_plan_kind kind;
    struct argument_planned *variables;
    size_t count;
    size_t capacity;
    struct argument_plan *next; // of those with the same hash
};

// argument_plan_find gives the variables of a call, which has a function, or of a call
// inlined into it, at its pc. NULL: out of memory.
const struct argument_plan *argument_plan_find(const struct argument_call *call,
                                               const Dwarf_Die *inlined,
                                               enum argument_plan_kind kind);
