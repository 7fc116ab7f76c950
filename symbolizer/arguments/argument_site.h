// SPDX-License-Identifier: Apache-2.0
//
// The place that a function was called from, in the debug information of its caller: it
// says what was passed.
#pragma once
#include "symbolizer/arguments/argument_expression.h"
#include "symbolizer/arguments/argument_stack.h"

// ARGUMENT_SITES_MAX is how many callers may be asked in a row for one value.
enum { ARGUMENT_SITES_MAX = 8 };

// An argument_site is the call number index of stack, looked for in the one behind it.
struct argument_site {
    const struct argument_stack *stack;
    size_t index;
    int asked; // how many callers were asked already
};

// argument_site_name is the linker's name of the function that an entry is of, else the
// one in its source; NULL: it has none.
const char *argument_site_name(Dwarf_Die *die);

// argument_site_entry is an argument_entry_fn; its data is a struct argument_site.
enum ch_status argument_site_entry(const struct argument_context *context, unsigned reg,
                                   uint64_t *out);
