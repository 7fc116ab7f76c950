// SPDX-License-Identifier: Apache-2.0
//
// The variable at fault: what the source calls the bad value that the crashed
// instruction used, as far as code and debug information prove it. That is the pointer
// of the memory operand that faulted, an index that is outside of its array, the
// address that a call or a jump went to, or the divisor.
//
// argument_fault.c looks at the crashed instruction, argument_passed.c at what was
// passed to a library's function that crashed. Each part of the search is a function
// that names the bad value, or returns false.
#pragma once
#include <jansson.h>

#include "symbolizer/arguments/argument_stack.h"
#include "symbolizer/fault/argument_index.h"
#include "symbolizer/fault/argument_trace.h"
#include "symbolizer/fault/library_functions.h"

// argument_fault_find gives crash.variable of report, whose crashed thread is stack:
// {"expression", "frame", "function", "value", "confidence", ...}. NULL: nothing is
// proved.
json_t *argument_fault_find(const json_t *report, const struct argument_stack *stack,
                            const json_t *frames);

// fatal_calls_find gives what a library said when it ended the program, where it keeps
// no copy of that: the text, the file and the line that were passed to its function for
// fatal errors, as the code before the call proves. Of the values of a format, texts
// and ints that were passed in registers are filled in. frames are those of the crashed
// thread. NULL: no such function is on the stack, or its text is not known. What may be
// secret is masked.
json_t *fatal_calls_find(const struct argument_stack *stack, const json_t *frames);

enum { FAULT_WORD_BYTES = 8 };

enum { ARGUMENT_FREED_TEXT = 9 }; // a word of characters, with the NUL

// fault is the crash whose variable is looked for.
struct fault {
    const json_t *crash;
    struct argument_trace trace;
    const struct argument_call *innermost;
    struct argument_named named;
    uint64_t value;       // the bad one
    uint64_t block_bytes; // of a block that was freed; 0: not known
    uint8_t bytes;
    uint64_t elements;              // of the array that it is outside of; 0: none
    const char *container;          // what it is; NULL: an array
    struct text array;              // its name
    struct argument_named parts[2]; // of an address
    uint8_t base;                   // the operand's register
    const struct library_function *function; // that it was passed to; NULL: none
    const char *passed_as;                   // its role there
    bool likely;       // it is the only one that can be bad, but no code says so
    bool null;         // the address was made of a null pointer, named or not
    const char *state; // of a block that was freed; NULL: not known
    char text[ARGUMENT_FREED_TEXT]; // in the place of its size
    bool number;                    // the value is a number, of 8 bytes
    bool refused;                   // the value is where a call was to go
};

// fault_agrees returns true if memory has the bad value for the name.
bool fault_agrees(const struct fault *f);

// fault_name_register names a register of call index with that value.
bool fault_name_register(struct fault *f, size_t index, uint8_t reg, uint64_t value);

// fault_type gives the type of a named value, without typedefs and qualifiers. What a
// function returned is a pointer to nothing known.
const struct type *fault_type(const struct argument_named *named);

// fault_register_name gives the name of a register.
const char *fault_register_name(const struct fault *f, uint8_t number);

// fault_take_array takes the name of an array, and what it has.
void fault_take_array(struct fault *f, struct argument_index *found);

// fault_name_passed names the pointer that was passed to a function of a library, which
// failed right at it, or a function that it called.
bool fault_name_passed(struct fault *f);

// fault_name_length names the number of bytes that was passed to a function of a
// library, which failed past the end of what it was passed a pointer to.
bool fault_name_length(struct fault *f);

// fault_name_entered names the pointer that the program passed to a function of a
// library, where the code of the library proves in which register it was passed.
bool fault_name_entered(struct fault *f);

// fault_name_parameter names the pointer that the program passed to its own function,
// which has no name for it: compilers pass a member in place of the structure.
bool fault_name_parameter(struct fault *f);

// fault_name_freed names the pointer with which the program called free, realloc or
// delete, where malloc found that it is none of a block, or that the block is damaged.
bool fault_name_freed(struct fault *f);

// argument_freed_state gives "stack" or "image" for memory that malloc never has,
// "misaligned" for an address that it never gives, or "text" if characters stand in the
// place of the size, which are stored in text unless texts are masked. NULL: none of it
// is so.
const char *argument_freed_state(const struct argument_stack *stack, uint64_t address,
                                 char text[static ARGUMENT_FREED_TEXT]);

// argument_freed_size gives how many bytes glibc's malloc has for the block at address,
// freed or not, by the size in front of it; 0: none can stand there.
uint64_t argument_freed_size(const struct argument_stack *stack, uint64_t address);
