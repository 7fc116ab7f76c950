// SPDX-License-Identifier: Apache-2.0
//
// What the code of a function proves about its registers and slots at one point: which
// of them hold a register's entry value, and what it passes to a function that it
// calls.
//
// All paths count, including loops: a fact holds if it holds on every path. An indirect
// jump may lead anywhere in the function where the stack pointer is the same; a call
// overwrites all caller-saved registers.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "symbolizer/code/argument_flow.h"
#include "symbolizer/code/instruction.h"

// The instructions of a function, and where each continues.
//
// The whole function is decoded. Parts that the compiler moved out of it belong to it
// if they jump back into it; other code that it jumps to is another function, called by
// a tail call. If an instruction cannot be decoded, or a jump leads into the middle of
// one, there is no result. Functions over 64 KiB are not decoded.

enum { ARGUMENT_CODE_BYTES_MAX = 64 << 10 };

struct argument_step {
    uint64_t vaddr;
    struct instruction_effects effects;
};

// An argument_code has its steps sorted by address.
struct argument_code {
    const struct argument_machine *machine;
    uint64_t entry; // vaddr
    uint64_t size;
    bool reentered; // a jump leads back to the entry, from anywhere
    struct argument_step *steps;
    size_t count;
    size_t capacity;
};

// An argument_code_fn gives the code bytes at vaddr and how many there are; NULL: none.
typedef const uint8_t *argument_code_fn(void *context, uint64_t vaddr,
                                        size_t *out_size);

void argument_code_deinit(struct argument_code *code);

// argument_code_find gives the index of the instruction at vaddr, SIZE_MAX: none.
size_t argument_code_find(const struct argument_code *code, uint64_t vaddr);

// An argument_point is the state at one point.
struct argument_point {
    struct argument_state state;
    struct argument_slots slots;
};

// An argument_scanned_call is what was found of one call: threads that wait in one
// place have the same calls.
struct argument_scanned_call {
    uint64_t vaddr; // of its last byte
    bool known;     // this entry is used
    bool found;
    uint64_t target;
    struct argument_point before;
    struct argument_point after;
};

struct argument_scan {
    struct argument_code code;
    bool usable;
    struct argument_slots slots;
    // block has the number of the block that begins at each instruction, or UINT32_MAX;
    // states has the state at the start of each block.
    uint32_t *block;
    struct argument_state *states;
    bool *reached;
    size_t block_count;
    // The joined states at indirect jumps: of those with the whole frame, and of those
    // after the frame was released.
    struct argument_state anywhere[2];
    bool jumps_anywhere[2];
    struct argument_scanned_call *calls; // a table by remainder
};

// argument_scan_create scans the function of size bytes at entry. Code that cannot be
// analysed is no failure. NULL: out of memory.
struct argument_scan *argument_scan_create(const struct argument_machine *machine,
                                           uint64_t entry, uint64_t size,
                                           argument_code_fn *bytes, void *context);

// argument_scan_destroy frees a scan, or NULL.
void argument_scan_destroy(struct argument_scan *scan);

// argument_scan_before gives the state before the instruction at vaddr. False: nothing
// is known.
bool argument_scan_before(const struct argument_scan *scan, uint64_t vaddr,
                          struct argument_point *out);

// argument_scan_called gives what was found of the call whose last byte is at vaddr:
// the states before and after it, where unknown values that are equal share one
// identity, and its target, 0 if the call is not direct. It is valid until the next
// call of this function. NULL: nothing is known, or out of memory.
const struct argument_scanned_call *
argument_scan_called(const struct argument_scan *scan, uint64_t vaddr);

// An argument_holder is a register or slot that holds a value.
struct argument_holder {
    bool is_slot;
    int64_t place; // the register, or the slot's offset from the CFA
    uint8_t bytes; // how many bytes of the value
};

// argument_scan_holder finds where content is held at a point, among registers (bit N:
// number N) and the slots. False: nowhere.
bool argument_scan_holder(const struct argument_point *point,
                          const struct argument_content *content, uint32_t registers,
                          struct argument_holder *out);

// argument_scan_is_joined returns true if control may come to a step other than from
// the one before it.
bool argument_scan_is_joined(const struct argument_scan *scan, size_t at);

// Registers that are multiples of others: compilers compute the place of an element of
// N bytes by shifts, sums and multiplications.

// argument_multiple_find goes back from step *at to where *reg is a multiple of one
// register, makes this one *reg, and multiplies *scale. False: straight code does not
// make it so, and nothing is changed.
bool argument_multiple_find(const struct argument_scan *scan, size_t *at, uint8_t *reg,
                            uint64_t *scale);
