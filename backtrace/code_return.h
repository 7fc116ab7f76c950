// SPDX-License-Identifier: Apache-2.0
//
// Unwind rules for a function that has none, from the rest of its code: the
// instructions from an address to the function's return say how far the stack pointer
// moves and which saved registers are loaded. The functions of musl's C library have no
// other rules.
//
// Jumps are followed both ways until one path comes to a return. A path that changes
// the stack pointer in another way, or has an instruction that is not known, is given
// up. A call that does not return makes what follows it wrong, so the caller of this
// must check that the return address it leads to is after a call.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "formats/debug/unwind_row.h"

// A code_range is readable code.
struct code_range {
    uint64_t low;
    uint64_t high;
};

// code_return_find makes a row for pc, which is the return address of a call or, if
// is_called is false, any instruction. False: no path comes to a return.
bool code_return_find(uint64_t pc, bool is_called, const struct code_range *code,
                      struct unwind_row *out);
