// SPDX-License-Identifier: Apache-2.0
//
// What the places of a function hold at one point of its code: its registers, and the
// slots of its frame that it stores to and reads back.
//
// A content is something with a name: what a register held at the entry, an address in
// the frame, a constant. It is followed from place to place; whatever is not understood
// leaves a place unknown. Addresses in the frame count from the CFA. From where the
// function lets one out of its hands (takes the address of a local), that address and
// all above it may be written by others, and no slot is believed there.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/diagnosis/instruction.h"

enum {
    ARGUMENT_GENERAL_REGISTERS = 16,
    ARGUMENT_SLOTS_MAX = 40,
    ARGUMENT_PLACES = ARGUMENT_GENERAL_REGISTERS + ARGUMENT_SLOTS_MAX,
};

enum argument_content_kind {
    ARGUMENT_UNKNOWN,
    ARGUMENT_OF_ENTRY,    // what register number held when the function began
    ARGUMENT_OF_FRAME,    // the CFA plus number
    ARGUMENT_OF_CONSTANT, // number
    ARGUMENT_OF_ADDRESS,  // number, as linked
    ARGUMENT_OF_PLACE,    // something that has no other name than number
};

struct argument_content {
    uint8_t kind;
    uint8_t bytes; // how much of it, from the lowest one on
    int64_t number;
};

// argument_slots are the slots of a frame, whose contents come behind the registers'.
struct argument_slots {
    int64_t offset[ARGUMENT_SLOTS_MAX]; // from the CFA
    bool read[ARGUMENT_SLOTS_MAX];      // by the function itself
    size_t count;
};

struct argument_state {
    struct argument_content places[ARGUMENT_PLACES];
    int64_t floor; // of what others may write in the frame
    int64_t names; // given to contents so far; 0: what is unknown gets none
};

// argument_flow_begin is what holds where the function begins.
void argument_flow_begin(struct argument_state *out);

// argument_flow_name gives all that is unknown in state a name from here on.
void argument_flow_name(struct argument_state *state,
                        const struct argument_slots *slots);

// argument_flow_step goes on over an instruction; next is the address behind it.
void argument_flow_step(struct argument_state *state, struct argument_slots *slots,
                        const struct instruction_effects *effects, uint64_t next);

// argument_flow_meet leaves in state what holds in from as well, and says whether that
// is less than before.
bool argument_flow_meet(struct argument_state *state,
                        const struct argument_state *from);
