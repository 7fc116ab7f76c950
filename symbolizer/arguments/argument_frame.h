// SPDX-License-Identifier: Apache-2.0
//
// What is known of the registers of one call: what the unwinder has of them, without
// those that its callee may have overwritten.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind.h"

struct argument_frame {
    struct unwind_registers registers; // by DWARF number
    uint64_t known;                    // bit n: what register n holds in this frame
    uint64_t cfa;                      // 0: not known
    bool activation; // the pc is the next instruction, not the one behind a call
};

// argument_frame_knows is whether the frame's register is known.
static inline bool argument_frame_knows(const struct argument_frame *frame,
                                        uint64_t reg)
{
    return reg < UNWIND_REGISTERS && frame->known >> reg & 1;
}
