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
    // The 16 bytes of each of xmm0 to xmm15; NULL: not known. No call preserves them,
    // so only the innermost frame has them.
    const uint8_t *vectors;
};

// Vector registers of x86-64 by DWARF number.
enum { ARGUMENT_VECTOR_FIRST = 17, ARGUMENT_VECTORS = 16, ARGUMENT_VECTOR_BYTES = 16 };

// argument_frame_vector gives the bytes of a vector register; NULL: it is none, or they
// are not known.
static inline const uint8_t *argument_frame_vector(const struct argument_frame *frame,
                                                   uint64_t reg)
{
    bool known = frame->vectors != NULL && reg >= ARGUMENT_VECTOR_FIRST &&
                 reg - ARGUMENT_VECTOR_FIRST < ARGUMENT_VECTORS;
    return known
               ? frame->vectors + (reg - ARGUMENT_VECTOR_FIRST) * ARGUMENT_VECTOR_BYTES
               : NULL;
}

// argument_frame_knows says whether the frame's register is known.
static inline bool argument_frame_knows(const struct argument_frame *frame,
                                        uint64_t reg)
{
    return reg < UNWIND_REGISTERS && frame->known >> reg & 1;
}
