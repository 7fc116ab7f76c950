// SPDX-License-Identifier: Apache-2.0
//
// The known registers of one call: those that the unwinder recovered, without those
// that the callee may have overwritten.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind.h"

struct argument_frame {
    struct unwind_registers registers; // by DWARF number
    uint64_t known;                    // bit n: register n is known in this frame
    uint64_t cfa;                      // 0: not known
    bool activation; // the pc is the next instruction, not a return address
    // The 16 bytes of each of xmm0 to xmm15 or v0 to v31. No call preserves all of
    // them, so only the innermost frame has them.
    const uint8_t *vectors;
    size_t vector_count; // 0: not known
    enum unwind_arch_id arch;
};

enum { ARGUMENT_VECTOR_BYTES = 16 };

// argument_vector_first is the DWARF number of xmm0 or v0.
static inline uint64_t argument_vector_first(enum unwind_arch_id arch)
{
    return arch == UNWIND_ARCH_AARCH64 ? 64 : 17;
}

// argument_frame_vector gives the bytes of a vector register; NULL: it is none, or they
// are not known.
static inline const uint8_t *argument_frame_vector(const struct argument_frame *frame,
                                                   uint64_t reg)
{
    uint64_t number = reg - argument_vector_first(frame->arch);
    return number < frame->vector_count
               ? frame->vectors + number * ARGUMENT_VECTOR_BYTES
               : NULL;
}

// argument_frame_knows returns true if the frame's register is known.
static inline bool argument_frame_knows(const struct argument_frame *frame,
                                        uint64_t reg)
{
    return reg < UNWIND_REGISTERS && frame->known >> reg & 1;
}
