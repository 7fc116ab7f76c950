// SPDX-License-Identifier: Apache-2.0
//
// The known registers of one call: those that the unwinder recovered, without those
// that the callee may have overwritten.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind.h"

struct argument_frame {
    struct unwind_registers registers; // by DWARF number
    uint64_t known;                    // bit n: register n is known in this frame
    uint64_t cfa;                      // 0: not known
    bool activation; // the pc is the next instruction, not a return address
};

// argument_frame_knows says whether the frame's register is known.
static inline bool argument_frame_knows(const struct argument_frame *frame,
                                        uint64_t reg)
{
    return reg < UNWIND_REGISTERS && frame->known >> reg & 1;
}
