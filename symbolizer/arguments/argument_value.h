// SPDX-License-Identifier: Apache-2.0
//
// An argument's value, from the location where it was found: held memory, a register,
// or bytes in the debug information itself. Pointers are shown but not followed. A
// value that is larger than its location is refused, not truncated.
#pragma once
#include "symbolizer/arguments/argument_expression.h"
#include "symbolizer/arguments/argument_stack.h"

// argument_value_make makes the value of argument, whose name and type are set, from
// location. CH_ERR_UNSUPPORTED: it is larger than the location. CH_ERR_FAULT: the
// memory was not held.
CH_CHECKED enum ch_status argument_value_make(const struct argument_stack *stack,
                                              const struct argument_call *call,
                                              const struct argument *argument,
                                              const struct argument_location *location,
                                              json_t **out);
