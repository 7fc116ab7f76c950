// SPDX-License-Identifier: Apache-2.0
//
// The value of a register at the entry of a call's function, without debug information.
// There are three sources: a register or slot that still holds the value, as the
// function's code proves; what the caller passed, as its code before the call proves,
// if the call is a direct one of this very function; or a function that the value was
// passed on to.
#pragma once
#include "symbolizer/arguments/argument_expression.h"
#include "symbolizer/arguments/argument_stack.h"

// ARGUMENT_ENTRY_CALLS_MAX is the number of calls examined in each direction.
enum { ARGUMENT_ENTRY_CALLS_MAX = 8 };

struct argument_entry {
    struct argument_location location; // a value, or memory
    uint8_t bytes;                     // how many of its bytes are known
    const char *source;
};

// argument_entry_symbol finds the function of a call. A part that the compiler moved
// away belongs to the function it was moved from.
bool argument_entry_symbol(const struct argument_call *call,
                           struct argument_symbol *out);

// argument_entry_code gives the decoded function of a call; NULL: it cannot be decoded.
const struct argument_scan *argument_entry_code(const struct argument_call *call);

// argument_entry_find finds the value of register reg when call index of stack began.
// CH_ERR_NOT_FOUND: nothing proves one.
CH_CHECKED enum ch_status argument_entry_find(const struct argument_stack *stack,
                                              size_t index, uint8_t reg,
                                              struct argument_entry *out);

// argument_entry_held gives the value that register reg had when call index was
// entered, if the function still has it, as its code proves. It was the caller's then.
bool argument_entry_held(const struct argument_stack *stack, size_t index, uint8_t reg,
                         uint64_t *out);

// argument_entry_made gives the register whose value at the entry of a call's function,
// with a constant added to it, is that of *reg before the instruction at vaddr: the one
// replaces the other. False: the code does not prove that.
bool argument_entry_made(const struct argument_call *call, uint64_t vaddr, uint8_t *reg,
                         int64_t *out_added);
