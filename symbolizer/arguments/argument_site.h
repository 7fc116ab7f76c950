// SPDX-License-Identifier: Apache-2.0
//
// The call site that a function was called from, in its caller's debug information,
// which says what was passed.
#pragma once
#include "symbolizer/arguments/argument_expression.h"
#include "symbolizer/arguments/argument_stack.h"

// An argument_site is the site of call index of stack, which lies in the next outer
// call.
struct argument_site {
    const struct argument_stack *stack;
    size_t index;
};

// argument_site_is_tail returns true if the function of call index of stack was reached
// by a tail call: by debug information, its caller called another function of the same
// image.
bool argument_site_is_tail(const struct argument_stack *stack, size_t index);

// argument_site_other gives the vaddrs of the function that a site called, by debug
// information, and of the one that was entered, which is another. False: it is not.
bool argument_site_other(const struct argument_site *site, uint64_t *out_called,
                         uint64_t *out_entered);

// argument_site_vaddr finds where a function begins, by its entry or by its symbol.
// False: neither says.
bool argument_site_vaddr(struct argument_image *image, Dwarf_Die *function,
                         uint64_t *out);

// argument_site_entry is an argument_entry_fn whose data is a struct argument_site.
enum ch_status argument_site_entry(const struct argument_context *context, unsigned reg,
                                   uint64_t *out);

// argument_site_passed is an argument_passed_fn whose data is a struct argument_site.
enum ch_status argument_site_passed(const struct argument_context *context,
                                    const Dwarf_Die *parameter, uint64_t *out);

// The base of a call's frame, which locations of variables are relative to: compilers
// say what it is with the function, mostly as the CFA or as a register.

// argument_base_find gives the address that a function's debug information uses as the
// base of its frame; false: it is not known.
bool argument_base_find(const struct argument_stack *stack,
                        const struct argument_call *call, uint64_t *out);
