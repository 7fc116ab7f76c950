// SPDX-License-Identifier: Apache-2.0
//
// The program's name of a pointer that a function was passed. A fault in a library, or
// at a pointer that was null plus an offset when it was passed, is explained by the
// expression of the program's own code that called.
#pragma once
#include "symbolizer/fault/argument_trace.h"

// argument_outer_find names the pointer that the first in-app function that led to call
// index passed in a register as value, which is its own value and out->added. Where
// that is an argument close to null, its caller is looked at, too. False: there is no
// such register, or several.
bool argument_outer_find(struct argument_trace *trace, size_t index, uint64_t value,
                         struct argument_named *out);
