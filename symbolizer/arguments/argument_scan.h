// SPDX-License-Identifier: Apache-2.0
//
// What the code of a function proves about its places at one point: which of them hold
// what a register held at the entry, and what it passes to a function that it calls.
//
// Every path counts, those backwards too: something holds where it holds on all of
// them. An indirect jump may go anywhere in the function where the stack is as high; a
// call writes all that calls need not keep.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "symbolizer/arguments/argument_code.h"
#include "symbolizer/arguments/argument_flow.h"

struct argument_scan {
    struct argument_code code;
    bool usable;
    struct argument_slots slots;
    // What holds where blocks begin, and at each instruction the number of its block,
    // UINT32_MAX: none begins there.
    uint32_t *block;
    struct argument_state *states;
    bool *reached;
    size_t block_count;
    // What held at indirect jumps: those of the whole frame, and those with it given
    // up.
    struct argument_state anywhere[2];
    bool jumps_anywhere[2];
};

// argument_scan_create looks at the function of size bytes at entry. What cannot be
// used is no failure. NULL: there is no memory for it.
struct argument_scan *argument_scan_create(uint64_t entry, uint64_t size,
                                           argument_code_fn *bytes, void *context);

// argument_scan_destroy frees a scan, or NULL.
void argument_scan_destroy(struct argument_scan *scan);

// An argument_point is what holds at one point.
struct argument_point {
    struct argument_state state;
    struct argument_slots slots;
};

// argument_scan_before says what holds before the instruction at vaddr is executed.
// False: nothing is known.
bool argument_scan_before(const struct argument_scan *scan, uint64_t vaddr,
                          struct argument_point *out);

// argument_scan_call says what holds before and after the call whose last byte is at
// vaddr. What else is unknown has the same name in both where it is the same.
// out_target: 0 where the call is not a direct one.
bool argument_scan_call(const struct argument_scan *scan, uint64_t vaddr,
                        struct argument_point *out_before,
                        struct argument_point *out_after, uint64_t *out_target);

// An argument_holder is a place that holds something.
struct argument_holder {
    bool is_slot;
    int64_t place; // the register, or the offset from the CFA
    uint8_t bytes; // how much of it
};

// argument_scan_holder finds a place that holds content at a point, among registers
// (bit N: number N) and the slots. False: none does.
bool argument_scan_holder(const struct argument_point *point,
                          const struct argument_content *content, uint16_t registers,
                          struct argument_holder *out);
