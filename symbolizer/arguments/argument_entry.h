// SPDX-License-Identifier: Apache-2.0
//
// What a register held when the function of a call began, without debug information:
// out of a place that still holds it, as the code of the function proves; out of what
// the calling function passed, as the code before its call proves, where the call is a
// direct one of this very function; or out of a function that it was passed on to.
#pragma once
#include "symbolizer/arguments/argument_expression.h"
#include "symbolizer/arguments/argument_stack.h"

// ARGUMENT_ENTRY_CALLS_MAX is how many calls are looked at in each direction.
enum { ARGUMENT_ENTRY_CALLS_MAX = 8 };

struct argument_entry {
    struct argument_location location; // a value, or memory
    uint8_t bytes;                     // how much of it is known
    const char *source;
};

// argument_entry_symbol finds the function of a call. A part that the compiler moved
// away is of the function it was moved from.
bool argument_entry_symbol(const struct argument_call *call,
                           struct argument_symbol *out);

// argument_entry_find finds what register reg held when call number index of stack
// began. CH_ERR_NOT_FOUND: nothing proves it.
CH_CHECKED enum ch_status argument_entry_find(const struct argument_stack *stack,
                                              size_t index, uint8_t reg,
                                              struct argument_entry *out);
