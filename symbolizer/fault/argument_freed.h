// SPDX-License-Identifier: Apache-2.0
//
// What is known of the memory that a program passed to free: where it is, and what
// stands where glibc keeps the size of a block.
#pragma once
#include "symbolizer/arguments/argument_stack.h"

enum { ARGUMENT_FREED_TEXT = 9 }; // a word of characters, with the NUL

// argument_freed_state gives "stack" or "image" for memory that malloc never has,
// "misaligned" for an address that it never gives, or "text" if characters stand in the
// place of the size, which are stored in text unless texts are masked. NULL: none of it
// is so.
const char *argument_freed_state(const struct argument_stack *stack, uint64_t address,
                                 char text[static ARGUMENT_FREED_TEXT]);

// argument_freed_size gives how many bytes glibc's malloc has for the block at address,
// freed or not, by the size in front of it; 0: none can stand there.
uint64_t argument_freed_size(const struct argument_stack *stack, uint64_t address);
