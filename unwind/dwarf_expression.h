// SPDX-License-Identifier: Apache-2.0
//
// DWARF expressions, as unwind rules use them (DWARF 5, sections 2.5 and 6.4).
//
// A stack machine over 64-bit words. It reads registers and memory of the target and
// changes nothing. Expressions come from the target, so their operations and their
// stack are limited: the longest real ones have some twenty operations.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "unwind/unwind_state.h"

enum {
    DWARF_EXPRESSION_STACK_MAX = 64,
    DWARF_EXPRESSION_OPERATIONS_MAX = 4096,
};

struct dwarf_expression {
    const uint8_t *bytes;
    size_t size;
};

// dwarf_expression_run gives the word on top of the stack when the expression ends.
// first is on the stack when it begins, unless NULL. CH_ERR_UNSUPPORTED: a register it
// asks for is not known, or an operation that unwind rules do not have.
CH_CHECKED enum ch_status dwarf_expression_run(
    const struct dwarf_expression *expression, const struct memory_reader *memory,
    const struct unwind_state *state, const uint64_t *first, uint64_t *out);
