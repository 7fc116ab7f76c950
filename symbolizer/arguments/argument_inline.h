// SPDX-License-Identifier: Apache-2.0
//
// The calls that were inlined at the pc of a call of the stack: their debug information
// entries, for the corresponding frames of the report.
//
// They are looked up from the function down to the pc; the rest of the unit is not
// read. A report's frames may have been named at another time or from a cache, so the
// entries are used only if their number and names agree with the frames.
#pragma once
#include "symbolizer/arguments/argument_stack.h"

// ARGUMENT_INLINE_MAX is the greatest depth of nested inlined calls.
enum { ARGUMENT_INLINE_MAX = 64 };

// argument_inline_end is the number of the frame after those of the calls inlined into
// call: its own, or the first of those that an interpreter ran in it.
size_t argument_inline_end(const struct argument_call *call, const json_t *frames);

// argument_inline_find gives the entries of the inlined calls whose frames precede
// call's own in frames, innermost first, and returns their number; 0: there are none,
// or they are not known.
size_t argument_inline_find(const struct argument_call *call, const json_t *frames,
                            Dwarf_Die out[ARGUMENT_INLINE_MAX]);

// argument_inline_enter finds the child of scope that contains vaddr: a lexical block
// or an inlined call. False: there is none.
bool argument_inline_enter(Dwarf_Die *scope, uint64_t vaddr, Dwarf_Die *out);
