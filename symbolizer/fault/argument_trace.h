// SPDX-License-Identifier: Apache-2.0
//
// What the source calls the value that a register has at an instruction.
//
// The code is followed backwards from there, as far as it is straight: to the
// instruction that loaded the register, from there to those that loaded the address,
// until a variable of the debug information is reached. Nothing is taken across a jump
// that leads into the middle. Where the function was entered with the value, it is
// followed into the caller. What memory says now must agree with the register.
#pragma once
#include <stdbool.h>

#include "symbolizer/arguments/argument_lookup.h"
#include "symbolizer/fault/argument_scope.h"

// An argument_trace is the thread whose values are named.
struct argument_trace {
    const struct argument_stack *stack;
    const json_t *frames;
    struct argument_scope scope;
    bool takes_returned; // what a function returned is named, where no variable has it
    bool met_returned;   // there was such a value
};

// argument_trace_register names the value that the register reg of call index has
// before the instruction at its pc, or, of a call that has called another, before that
// call. bytes is how many of its bytes count. False: no name is proved.
bool argument_trace_register(struct argument_trace *trace, size_t index, uint8_t reg,
                             uint8_t bytes, struct argument_named *out);

// argument_trace_offset names the value to which constants were added (out->added), as
// for elements and members, and the register has the sum.
bool argument_trace_offset(struct argument_trace *trace, size_t index, uint8_t reg,
                           struct argument_named *out);

// argument_trace_leads returns true if a pointer leads to memory. Where something was
// added to it, what was added is to blame for a bad sum, and not the pointer.
bool argument_trace_leads(const struct argument_trace *trace, uint64_t pointer);

// argument_trace_stored names, as argument_trace_offset does, the value that was last
// stored in the local variable that the register was loaded from.
bool argument_trace_stored(struct argument_trace *trace, size_t index, uint8_t reg,
                           struct argument_named *out);

// argument_trace_sum names the two values of which the register reg of call index is
// the sum. One that has no name has no value. False: neither has, or it is no sum.
bool argument_trace_sum(struct argument_trace *trace, size_t index, uint8_t reg,
                        struct argument_named out[2]);

// argument_trace_memory names the value at an instruction's memory operand, that of an
// indirect call.
bool argument_trace_memory(struct argument_trace *trace, size_t index,
                           const struct instruction_memory *memory,
                           struct argument_named *out);

// argument_trace_value gives the value of the register there, where it is a constant,
// an address, or was loaded from memory whose address is known. It needs no name.
bool argument_trace_value(struct argument_trace *trace, size_t index, uint8_t reg,
                          uint64_t *out);

// argument_trace_cut names the 4 bytes that the value of the register was made from, by
// their sign or with zeros, and gives where. False: the code does not do that.
bool argument_trace_cut(struct argument_trace *trace, size_t index, uint8_t reg,
                        struct argument_named *out, uint64_t *out_vaddr);

// argument_trace_step gives the instruction that argument_trace_register begins before;
// NULL: its function cannot be decoded.
const struct argument_step *argument_trace_step(struct argument_trace *trace,
                                                size_t index);
