// SPDX-License-Identifier: Apache-2.0
//
// What a function's registers, and the stack slots that it stores to and reads back,
// hold at one point of its code.
//
// A content is a value with an identity: a register's value at the entry, an address in
// the frame, a constant. It is followed from place to place; what is not understood
// makes a place unknown. Addresses in the frame are relative to the CFA. Once an
// address in the frame escapes (the function takes the address of a local variable),
// other code may write at that address and above it, and no slot there is trusted.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/code/instruction.h"
#include "unwind/unwind_arch.h"

// An argument_machine is what is to be known of a processor to follow its code: its
// registers by their DWARF numbers, and what its calls do.
struct argument_machine {
    enum ch_status (*read_effects)(const uint8_t *bytes, size_t size, uint64_t address,
                                   struct instruction_effects *out);
    uint8_t registers; // general ones
    uint8_t sp;
    uint8_t fp;
    int64_t entry_sp;     // the stack pointer at the entry, from the CFA
    int64_t red_zone;     // bytes below the stack pointer that belong to the function
    uint32_t call_writes; // bit N: a call may overwrite register N
    uint8_t arguments[8]; // the registers that pass arguments
    uint8_t argument_count;
};

extern const struct argument_machine argument_machine_amd64;
extern const struct argument_machine argument_machine_aarch64;

// argument_machine_of gives that of an architecture; NULL: its code is not decoded.
const struct argument_machine *argument_machine_of(const struct unwind_arch *arch);

enum {
    ARGUMENT_GENERAL_REGISTERS = 32,
    ARGUMENT_SLOTS_MAX = 40,
    ARGUMENT_PLACES = ARGUMENT_GENERAL_REGISTERS + ARGUMENT_SLOTS_MAX,
};

enum argument_content_kind {
    ARGUMENT_UNKNOWN,
    ARGUMENT_OF_ENTRY,    // the value of register number at the entry
    ARGUMENT_OF_FRAME,    // the CFA plus number
    ARGUMENT_OF_CONSTANT, // number
    ARGUMENT_OF_ADDRESS,  // the vaddr number
    ARGUMENT_OF_PLACE,    // an unknown value with the identity number
};

struct argument_content {
    uint8_t kind;
    uint8_t bytes; // how many of its low bytes
    int64_t number;
};

// An argument_slots lists the slots of a frame, whose contents follow those of the
// registers.
struct argument_slots {
    int64_t offset[ARGUMENT_SLOTS_MAX]; // from the CFA
    bool read[ARGUMENT_SLOTS_MAX];      // by the function itself
    size_t count;
};

struct argument_state {
    const struct argument_machine *machine;
    struct argument_content places[ARGUMENT_PLACES];
    int64_t floor; // lowest frame address that escaped
    int64_t names; // identities used so far; 0: unknown values get none
};

// argument_flow_begin gives the state at the function's entry.
void argument_flow_begin(const struct argument_machine *machine,
                         struct argument_state *out);

// argument_flow_name gives every unknown value in state an identity from here on.
void argument_flow_name(struct argument_state *state,
                        const struct argument_slots *slots);

// argument_flow_step executes an instruction on state; next is the address after it.
void argument_flow_step(struct argument_state *state, struct argument_slots *slots,
                        const struct instruction_effects *effects, uint64_t next);

// argument_flow_meet joins from into state: it keeps what holds in both, and returns
// whether that is less than before.
bool argument_flow_meet(struct argument_state *state,
                        const struct argument_state *from);
