// SPDX-License-Identifier: Apache-2.0
//
// An argument's value out of the place it was found in: memory that was held, a
// register, or bytes that debug information has itself. Pointers are shown and not
// followed. What is larger than its place is refused, not cut.
#pragma once
#include "symbolizer/arguments/argument_expression.h"
#include "symbolizer/arguments/argument_stack.h"

// argument_value_make makes the value of argument, which has its name and type, out of
// location. CH_ERR_UNSUPPORTED: it is larger than the place. CH_ERR_FAULT: the memory
// is not there.
CH_CHECKED enum ch_status argument_value_make(const struct argument_stack *stack,
                                              const struct argument_call *call,
                                              const struct argument *argument,
                                              const struct argument_location *location,
                                              json_t **out);
