// SPDX-License-Identifier: Apache-2.0
//
// The registers of every frame of a stack, as far as call frame information restores
// them: what an argument is looked for in.
//
// A walk begins with the registers of a stopped thread and has the stack's bytes alone.
// It is checked against the frames of the report, which were found while the process
// was held: where the two part, it ends. A register is known only when a rule says
// where it is, or the machine's convention that calls keep it.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "base/memory_reader.h"
#include "base/status.h"

// ARGUMENT_REGISTERS are those of x86-64 by DWARF number: 0 to 15, and 16 the pc.
enum { ARGUMENT_REGISTERS = 17, ARGUMENT_SP = 7, ARGUMENT_PC = 16 };

struct argument_frame {
    uint64_t value[ARGUMENT_REGISTERS];
    uint32_t known; // bit N: value[N] is what register N holds in this frame
    uint32_t
        saved;    // bit N: register N was saved in this frame, so it is the frame's own
    uint64_t cfa; // 0: not known
    bool activation; // the pc is the next instruction, not the one behind a call
};

// argument_frame_knows is whether the frame's register is known.
static inline bool argument_frame_knows(const struct argument_frame *frame,
                                        unsigned reg)
{
    return reg < ARGUMENT_REGISTERS && frame->known >> reg & 1;
}

// argument_frame_step works out the caller's registers from those of frame, by the rule
// that cfi has for vaddr, and notes in frame its CFA and what it saved.
// CH_END: the rule knows no caller. CH_ERR_NOT_FOUND: there is no rule. CH_ERR_FAULT:
// memory that is not there.
CH_CHECKED enum ch_status argument_frame_step(struct argument_frame *frame,
                                              Dwarf_CFI *cfi, uint64_t vaddr,
                                              const struct memory_reader *memory,
                                              struct argument_frame *out_caller);
