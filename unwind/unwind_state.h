// SPDX-License-Identifier: Apache-2.0
//
// Registers of one frame of a walk, with what is known of them.
//
// Only the innermost frame and one that a signal interrupted have all of them. SFrame
// and frame pointers recover three; the rest then hold values of frames further in, and
// a rule that asks for one of those must be told so instead of being given it.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind.h"

struct unwind_state {
    struct unwind_registers registers;
    uint64_t known; // bit n: value[n] is right
};

static inline bool unwind_state_knows(const struct unwind_state *state, unsigned reg)
{
    return reg < UNWIND_REGISTERS && state->known >> reg & 1;
}

static inline void unwind_state_set(struct unwind_state *state, unsigned reg,
                                    uint64_t value)
{
    state->registers.value[reg] = value;
    state->known |= UINT64_C(1) << reg;
}

static inline void unwind_state_forget(struct unwind_state *state, unsigned reg)
{
    state->known &= ~(UINT64_C(1) << reg);
}
