// SPDX-License-Identifier: Apache-2.0
//
// A value of a thread and what the source calls it. A name is given only where code and
// debug information prove it.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "symbolizer/arguments/argument_lookup.h"
#include "symbolizer/fault/argument_scope.h"

// An argument_named is a value and its name.
struct argument_named {
    struct text expression; // `item->next`
    const struct argument_call *call;
    size_t frame;            // the function's, whose words these are
    uint64_t scale;          // the register has the value times this
    uint64_t value;          // of has_value
    uint64_t from;           // of loaded
    int64_t added;           // to the value, of argument_trace_offset
    uint32_t type;           // in the table of call's image
    enum argument_role role; // of variable; or a function's name is the expression
    bool variable;           // the expression is just a variable's name
    bool is_address;         // the value is the address of what the expression names
    bool has_value;          // its value is known, apart from the register
    bool loaded;             // it was loaded through a pointer
};

void argument_named_deinit(struct argument_named *named);

// argument_is_returned returns true if the expression is the name of a function that
// returned the value, or the address of it. The value then is a pointer of no type.
bool argument_is_returned(const struct argument_named *named);

// argument_named_number gives the value by its type, with its sign. False: it is not
// known, or longer than a word.
bool argument_named_number(const struct argument_named *index, int64_t *out);

// argument_named_element gives the type of the elements that the value leads to; false:
// it is no array, and no pointer to elements of that size.
bool argument_named_element(const struct argument_named *array, uint64_t bytes,
                            uint32_t *out);
