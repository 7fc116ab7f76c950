// SPDX-License-Identifier: Apache-2.0
//
// One step outward by an unwind row, whatever format the row came from.
//
// A row says where the caller's frame, return address and saved registers are. The step
// reads them from the target's memory and fails where it cannot.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "formats/debug/unwind_row.h"
#include "unwind/unwind_arch.h"
#include "unwind/unwind_state.h"

struct row_step {
    const struct unwind_arch *arch;
    const struct memory_reader *memory;
    const struct unwind_row *row;
    bool exact;       // the frame is at its PC, not in a call made from there
    bool only_tracks; // the format tracks no other registers than those in its rows
};

// row_step_cfa gives the canonical frame address of the frame at state. Errors are
// those of row_step.
CH_CHECKED enum ch_status row_step_cfa(const struct row_step *step,
                                       const struct unwind_state *state, uint64_t *out);

// row_step makes state that of the caller. CH_END: the row says that there is none.
// CH_ERR_UNSUPPORTED: a rule needs a register that is not known. CH_ERR_FAULT: the
// stack cannot be read where the rule points. state is unspecified after a failure.
CH_CHECKED enum ch_status row_step(const struct row_step *step,
                                   struct unwind_state *state);

// DWARF expressions of unwind rules (DWARF 5, sections 2.5 and 6.4). Their bytes are
// decoded here and executed by unwind/dwarf_machine.h, within its limits.

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
