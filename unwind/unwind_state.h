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

#include "unwind/unwind_types.h"

struct unwind_state {
    struct unwind_registers registers;
    uint64_t known; // bit n: value[n] is right, if what the frame called kept it

    // Of the known ones those that are the frame's own for sure: which calls keep by
    // convention, or which rules say where to find. Rules of hand-written code may
    // count on more than that, values shown to people may not.
    uint64_t kept;

    // What unwind_state_undo puts back.
    struct unwind_registers before;
    uint64_t changed; // bit n: before[n] is value[n] of then
    uint64_t known_before;
    uint64_t kept_before;
};

static inline bool unwind_state_knows(const struct unwind_state *state, unsigned reg)
{
    return reg < UNWIND_REGISTERS && state->known >> reg & 1;
}

// unwind_state_sure is a bit for each register that is the frame's own for sure.
static inline uint64_t unwind_state_sure(const struct unwind_state *state)
{
    return state->known & state->kept;
}

static inline void unwind_state_set(struct unwind_state *state, unsigned reg,
                                    uint64_t value)
{
    uint64_t bit = UINT64_C(1) << reg;
    if (!(state->changed & bit))
        state->before.value[reg] = state->registers.value[reg];
    state->changed |= bit;
    state->registers.value[reg] = value;
    state->known |= bit;
    state->kept |= bit;
}

static inline void unwind_state_forget(struct unwind_state *state, unsigned reg)
{
    state->known &= ~(UINT64_C(1) << reg);
}

// unwind_state_keep makes the frame as it stands the one that undo goes back to. A step
// is made in place and taken back where it leads nowhere: copies of all registers would
// be half of what a frame costs.
static inline void unwind_state_keep(struct unwind_state *state)
{
    state->changed = 0;
    state->known_before = state->known;
    state->kept_before = state->kept;
}

static inline void unwind_state_undo(struct unwind_state *state)
{
    for (; state->changed != 0; state->changed &= state->changed - 1) {
        unsigned reg = (unsigned)__builtin_ctzll(state->changed);
        state->registers.value[reg] = state->before.value[reg];
    }
    state->known = state->known_before;
    state->kept = state->kept_before;
}
