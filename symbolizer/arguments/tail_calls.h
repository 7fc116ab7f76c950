// SPDX-License-Identifier: Apache-2.0
//
// Functions that are gone from a stack because their last act was a call: the compiler
// made it a jump, so they left no return address. Debug information lists these jumps
// as call sites (DW_AT_call_tail_call). Where exactly one chain of them leads from the
// function that the caller called to the one that was entered, all that ran between the
// two is known.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/arguments/argument_site.h"

enum { TAIL_CALLS_MAX = 16 };

// tail_calls_find stores the vaddrs of the jumps that led to call index of stack,
// innermost first, and returns their number. 0: there were none, or more than one chain
// fits, or a jump on the way has no known target.
size_t tail_calls_find(const struct argument_stack *stack, size_t index,
                       uint64_t out[static TAIL_CALLS_MAX]);
