// SPDX-License-Identifier: Apache-2.0
//
// The base of a call's frame, which locations of variables are relative to: compilers
// say what it is with the function, mostly as the CFA or as a register.
#pragma once
#include "symbolizer/arguments/argument_stack.h"

// argument_base_find gives the address that a function's debug information uses as the
// base of its frame; false: it is not known.
bool argument_base_find(const struct argument_stack *stack,
                        const struct argument_call *call, uint64_t *out);
