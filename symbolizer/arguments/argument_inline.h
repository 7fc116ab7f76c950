// SPDX-License-Identifier: Apache-2.0
//
// The calls that were inlined where a call of the stack stands: their entries in the
// debug information, for the frames that the report has of them.
//
// They are looked for along the pc alone, from the function down; the rest of the unit
// is not read. A report's frames were named at another time, maybe out of a cache: only
// where number and names agree are the entries theirs.
#pragma once
#include "symbolizer/arguments/argument_stack.h"

// ARGUMENT_INLINE_MAX is how deep calls may be inlined into each other.
enum { ARGUMENT_INLINE_MAX = 64 };

// argument_inline_find gives the entries of the inlined calls whose frames stand before
// call's own in frames, innermost first, and how many they are; 0: there are none, or
// they are not known.
size_t argument_inline_find(const struct argument_call *call, const json_t *frames,
                            Dwarf_Die out[ARGUMENT_INLINE_MAX]);
