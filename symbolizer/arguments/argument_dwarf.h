// SPDX-License-Identifier: Apache-2.0
//
// Arguments by debug information: their values at the pc, from location lists, and
// their values when the function was called, from what the caller's debug information
// says it passed.
//
// The caller's information is used only if its call is one of this very function: the
// call's origin is the function's entry, or its target evaluates to the function's
// address. After a tail call it is not, and there are no entry values.
#pragma once
#include "symbolizer/arguments/argument_list.h"

// argument_dwarf_list lists the arguments of call index. False: debug information does
// not have its function.
bool argument_dwarf_list(const struct argument_stack *stack, size_t index,
                         struct argument_list *out);

// argument_dwarf_list_inlined lists the arguments of a call that was inlined into call
// index; inlined is its entry. They were not passed: their values come from location
// lists, with the registers of the enclosing function.
void argument_dwarf_list_inlined(const struct argument_stack *stack, size_t index,
                                 const Dwarf_Die *inlined, struct argument_list *out);
