// SPDX-License-Identifier: Apache-2.0
//
// What a library said when it ended the program, where it keeps no copy of that: the
// text, the file and the line that were passed to its function for fatal errors, as the
// code before the call proves. Of the values of a format, texts and ints that were
// passed in registers are filled in.
#pragma once
#include <jansson.h>

#include "symbolizer/arguments/argument_stack.h"

// fatal_calls_find gives the message of the crashed thread, whose backtrace has frames;
// NULL: no such function is on the stack, or its text is not known. What may be secret
// is masked.
json_t *fatal_calls_find(const struct argument_stack *stack, const json_t *frames);
