// SPDX-License-Identifier: Apache-2.0
//
// Arguments by debug information: where location lists say they are at the pc, and what
// they were when the function was called, out of what the caller's debug information
// says it passed.
//
// What a caller passed counts only where the call is one of this very function: the
// call's origin is the function's entry, or its target evaluates to where the function
// begins. Behind a tail call it is not, and nothing is said.
#pragma once
#include "symbolizer/arguments/argument_stack.h"

// argument_dwarf_list lists the arguments of call number index. False: debug
// information has nothing of its function.
bool argument_dwarf_list(const struct argument_stack *stack, size_t index,
                         struct argument_list *out);

// argument_dwarf_list_inlined lists the arguments of an inlined call that call number
// index stands in, whose entry is inlined. Nobody passed them: they are what its
// location lists say, in the registers of the function around it.
void argument_dwarf_list_inlined(const struct argument_stack *stack, size_t index,
                                 const Dwarf_Die *inlined, struct argument_list *out);
