// SPDX-License-Identifier: Apache-2.0
//
// The code around a crash: up to 12 instructions before and after the one that faulted,
// and around the call that led there from the program's own code, with their source
// lines. And the names of what registers point to.
//
// The code is read from the images' files. It is decoded from the start of its function
// on, as symbols have that: no other place of x86-64 code is known to begin an
// instruction. Where that does not lead to the instruction at hand, only it and those
// after it are listed.
#pragma once
#include <jansson.h>

#include "symbolizer/arguments/argument_stack.h"

enum { CODE_LISTING_AROUND = 12 };

// code_listing_make gives crash.disassembly of a report whose crashed thread is stack:
// [{"frame", "function", "file", "instructions": [{"address", "text", "line"}]}].
// NULL: nothing can be listed.
json_t *code_listing_make(const json_t *report, const struct argument_stack *stack,
                          const struct report_images *images);

// code_listing_open_lines opens what knows the source lines of a call's image; NULL:
// nothing does. The debug information of the system's libraries takes long to read:
// they have lines where there is a cache of it.
struct symbol_image *code_listing_open_lines(const struct argument_stack *stack,
                                             size_t call,
                                             const struct report_images *images);

// code_listing_add_place adds to an object the file and the line of the instruction of
// a call at vaddr, if they are known.
void code_listing_add_place(const struct argument_stack *stack, size_t call,
                            const struct report_images *images, uint64_t vaddr,
                            json_t *object);

// code_listing_symbols gives for each of crash.pointers {"symbol", "offset"} of the
// function or variable that it points into, or null.
json_t *code_listing_symbols(const json_t *report, struct argument_space *space);

// code_listing_is_code checks such a list, which comes from a child process.
bool code_listing_is_code(const json_t *code);
