// SPDX-License-Identifier: Apache-2.0
//
// Local variables by debug information: those of the lexical blocks around the pc, the
// innermost block's first. They have the sources of arguments (argument_lookup.h), but
// were not passed, so they have no values at the function's entry.
#pragma once
#include "symbolizer/arguments/argument_list.h"

// argument_locals_list lists the variables of call index, or if inlined is not NULL, of
// the call with that entry that was inlined into it. Nothing is listed for a function
// that debug information does not have.
void argument_locals_list(const struct argument_stack *stack, size_t index,
                          const Dwarf_Die *inlined, struct argument_list *out);
