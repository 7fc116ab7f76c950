// SPDX-License-Identifier: Apache-2.0
//
// Steps that a walk made before, by return address: deep stacks are recursion, which
// comes to the same few return addresses again and again.
//
// A step is stored if it depends on nothing but the stack: the CFA is a register plus
// an offset, and what the frame saved is in the few words below the CFA, as nearly all
// frames of x86-64 have it. Such a step is repeated from the part of the stack that the
// memory reader holds, without the searches and checks that led to it the first time;
// everything else is left to the walk. Many steps are made in one call: what remains of
// a frame then is a few words to load, and little more than copying the stack.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "base/settings/settings.h"
#include "formats/debug/unwind_row.h"
#include "unwind/unwind_arch.h"
#include "unwind/unwind_state.h"

// Limits: of the cached addresses, which replace each other, of the registers that a
// frame saved, and of the words below the CFA that hold them.
enum { KNOWN_STEPS = 256, KNOWN_STEP_SAVED = 6, KNOWN_STEP_WORDS = 16 };

struct known_saved {
    uint8_t reg;
    int8_t offset; // where it is, from the CFA
};

struct known_step {
    uint64_t pc;  // the return address; 0: this place is empty
    uint64_t set; // the registers that the step recovers
    int32_t cfa_offset;
    uint8_t cfa_reg;
    uint8_t how;    // enum setting_unwind of the walk
    uint8_t trust;  // enum unwind_trust of the frame that it leads to
    uint8_t bytes;  // as many below the CFA are read
    uint8_t caller; // the place of the step that followed it the last time
    uint8_t saved_count;
    struct known_saved saved[KNOWN_STEP_SAVED];
};

struct known_steps {
    const struct unwind_arch *arch;
    const struct memory_window *window;
    struct known_step steps[KNOWN_STEPS];
};

// known_steps_create makes an empty table for walks over memory, which must outlive it;
// free() ends it. NULL: no step can be repeated, because memory has no window or
// another machine's words, or because there is no room.
struct known_steps *known_steps_create(const struct unwind_arch *arch,
                                       const struct memory_reader *memory);

// known_steps_add keeps the step that row led to from the return address pc, unless it
// depends on more than the stack.
void known_steps_add(struct known_steps *steps, enum setting_unwind how, uint64_t pc,
                     const struct unwind_row *row, enum unwind_trust trust);

// known_steps_repeat makes at most `room` steps from a return address, state's PC, each
// to another one from which a step is known too. It writes the frames that it comes to
// and returns how many; state is that of the last one. 0: no step can be repeated, and
// state is unchanged.
size_t known_steps_repeat(struct known_steps *steps, enum setting_unwind how,
                          struct unwind_state *state, struct unwind_frame *frames,
                          size_t room);
