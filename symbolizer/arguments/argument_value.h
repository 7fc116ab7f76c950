// SPDX-License-Identifier: Apache-2.0
//
// An argument's value, from the location where it was found: held memory, a register,
// or bytes in the debug information itself. Pointers are shown but not followed. A
// value that is larger than its location is refused, not truncated.
#pragma once
#include "symbolizer/arguments/argument_expression.h"
#include "symbolizer/arguments/argument_plan.h"

// argument_when is when a variable had a value: at the pc, or when the function was
// called.
enum argument_when { ARGUMENT_NOW, ARGUMENT_AT_ENTRY, ARGUMENT_WHENS };

// An argument is what was found of one variable.
struct argument {
    const struct argument_planned *planned; // NULL: a signature alone is known
    const char *name;                       // NULL: not known
    uint32_t type;                          // in the table of the call's image
    json_t *values[ARGUMENT_WHENS];         // NULL: not known, or plain
    bool is_plain[ARGUMENT_WHENS];          // the value depends on these bytes alone:
    uint8_t plain[ARGUMENT_WHENS][ARGUMENT_PLAIN_MAX];
    const char *source; // these three are literals
    const char *confidence;
    const char *reason; // why it is unavailable, or NULL
};

// argument_value_make makes the value that argument, whose name and type are set, has
// at that time, from location. CH_ERR_UNSUPPORTED: it is larger than the location.
// CH_ERR_FAULT: the memory was not held.
CH_CHECKED enum ch_status argument_value_make(const struct argument_stack *stack,
                                              const struct argument_call *call,
                                              const struct argument_location *location,
                                              struct argument *argument,
                                              enum argument_when when);

// argument_value_of_plain makes the value of an argument that is plain.
json_t *argument_value_of_plain(const struct argument_stack *stack,
                                const struct type_table *table,
                                const struct argument *argument,
                                enum argument_when when);
