// SPDX-License-Identifier: Apache-2.0
//
// DWARF expressions of unwind rules (DWARF 5, sections 2.5 and 6.4). Their bytes are
// decoded here and executed by unwind/dwarf_machine.h, within its limits.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "unwind/unwind_state.h"

struct dwarf_expression {
    const uint8_t *bytes;
    size_t size;
};

// dwarf_expression_run gives the word on top of the stack when the expression ends.
// Unless NULL, *first is pushed before it begins. CH_ERR_UNSUPPORTED: it reads a
// register that is not known, or has an operation that unwind rules do not use.
CH_CHECKED enum ch_status dwarf_expression_run(
    const struct dwarf_expression *expression, const struct memory_reader *memory,
    const struct unwind_state *state, const uint64_t *first, uint64_t *out);
