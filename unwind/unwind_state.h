// SPDX-License-Identifier: Apache-2.0
//
// The registers of one frame of a walk, and which of them are known.
//
// Only the innermost frame and a frame that a signal interrupted have all of them.
// SFrame and frame pointers recover three. The others then still hold values of inner
// frames, and a rule that needs one must fail instead of using it.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind_types.h"

struct unwind_state {
    struct unwind_registers registers;
    uint64_t known; // bit n: value[n] is right, if the callee preserved it

    // The known registers that certainly have the frame's own values: callee-saved ones
    // by convention, and those that rules recovered. Rules of hand-written code may
    // rely on more than these; values shown to people may not.
    uint64_t kept;

    // What unwind_state_undo restores.
    struct unwind_registers before;
    uint64_t changed; // bit n: before[n] holds the earlier value[n]
    uint64_t known_before;
    uint64_t kept_before;
};

static inline bool unwind_state_knows(const struct unwind_state *state, unsigned reg)
{
    return reg < UNWIND_REGISTERS && state->known >> reg & 1;
}

// unwind_state_sure gives a bit for each register that certainly has the frame's own
// value.
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

// unwind_state_keep makes the current frame the one that unwind_state_undo restores. A
// step is made in place and undone if it leads nowhere: copying all registers would be
// half the cost of a frame.
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
