// SPDX-License-Identifier: Apache-2.0
//
// Looking up variables of one call in its debug information: arguments and local
// variables have their values in the same kinds of places, and the same is proved of
// both.
#pragma once
#include "symbolizer/arguments/argument_expression.h"
#include "symbolizer/arguments/argument_list.h"
#include "symbolizer/arguments/argument_site.h"

// An argument_lookup is the call whose variables are looked up. It must not be copied:
// its members refer to each other.
struct argument_lookup {
    const struct argument_stack *stack;
    const struct argument_call *call;
    struct argument_site site; // of the call, in its caller
    bool inlined;              // the call is inlined into call index
    struct argument_context context;
};

// argument_lookup_begin initializes l for the variables of call index, and begins out.
void argument_lookup_begin(struct argument_lookup *l,
                           const struct argument_stack *stack, size_t index,
                           struct argument_list *out);

// argument_lookup_argument gives an argument of which nothing was found yet.
struct argument argument_lookup_argument(const struct argument_planned *planned);

// argument_lookup_now finds the value that argument has at the pc. CH_END: it has
// neither a location nor a constant value, or what it points to was optimized away.
// CH_ERR_NOT_FOUND: it is in no location that is known here.
CH_CHECKED enum ch_status argument_lookup_now(struct argument_lookup *l,
                                              struct argument *argument);

// argument_lookup_add appends an argument whose lookups ended with status; without a
// value it gets the reason.
void argument_lookup_add(struct argument_list *out, struct argument *argument,
                         enum ch_status status);
