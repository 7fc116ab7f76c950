// SPDX-License-Identifier: Apache-2.0
//
// Where the variables are that the source has in scope at an instruction: local
// variables and arguments of a call and of the calls inlined into it, and the variables
// of its unit. What code does with a register or a place in memory is named by them
// (argument_trace.h).
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "symbolizer/arguments/argument_image.h"
#include "symbolizer/arguments/argument_lookup.h"
#include "symbolizer/arguments/argument_stack.h"

enum { ARGUMENT_SCOPE_MAX = 256 };

enum argument_role {
    ARGUMENT_LOCAL,
    ARGUMENT_PARAMETER,
    ARGUMENT_GLOBAL,
    ARGUMENT_RETURNED, // no variable: what a function returned
    ARGUMENT_LED_TO,   // no variable: the pointer at what it returned
};

// An argument_variable is one of them, in a register or in memory.
struct argument_variable {
    const char *name;
    uint32_t type; // in the table of the call's image
    uint64_t size;
    enum argument_role role;
    size_t frame; // its function's frame, as an index of the report's backtrace
    bool system;  // a library's, which was inlined
    bool in_register;
    bool is_null;    // it has no place, and every bit of it is 0
    uint64_t place;  // the register, or the address
    bool is_part;    // compilers split a structure: these are its bytes from offset on,
    uint64_t offset; // and size is how many
};

// An argument_scope is the variables at an instruction, innermost first.
struct argument_scope {
    const struct argument_stack *stack;
    const struct argument_call *call;
    uint64_t vaddr;
    size_t count;
    struct argument_variable variables[ARGUMENT_SCOPE_MAX];
};

// argument_scope_read lists the variables of call index at vaddr, which is in the code
// of its function. frames are those of the report. False: debug information does not
// have the function.
bool argument_scope_read(struct argument_scope *scope,
                         const struct argument_stack *stack, size_t index,
                         uint64_t vaddr, const json_t *frames);

// argument_scope_in_register finds the innermost variable that is in a register, that
// of the program before `this` of a call that was inlined; NULL: none is.
const struct argument_variable *
argument_scope_in_register(const struct argument_scope *scope, uint8_t reg);

// argument_scope_at finds the innermost variable that has the bytes at address; NULL:
// none has.
const struct argument_variable *argument_scope_at(const struct argument_scope *scope,
                                                  uint64_t address, uint64_t bytes);

// argument_returned_name appends the name of the function that begins at vaddr, or to
// which the stub of a procedure linkage table there leads. False: it has none, or is
// one that compilers call and sources do not.
bool argument_returned_name(struct argument_image *image, uint64_t vaddr,
                            struct text *out);

// argument_is_accessor returns true if the function that begins at vaddr is ->, * or
// get() of a class whose objects are used as pointers: one of the C++ library, or one
// that has no other word than the pointer. whole: nothing is loaded through what it
// returns, and [] of a vector is one, too. out_adds: it may add to the pointer, for an
// index or for what precedes the element in its node.
bool argument_is_accessor(struct argument_image *image, uint64_t vaddr, bool whole,
                          bool *out_adds);

// A value of a thread and what the source calls it. A name is given only where code and
// debug information prove it.

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
    bool accessed;           // a call gave it, maybe with an offset
    bool in_union;           // members of a union overlap there: it may be another one
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
