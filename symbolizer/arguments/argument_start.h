// SPDX-License-Identifier: Apache-2.0
//
// main's arguments, from the words that the kernel put on the stack of the new process:
// the number of arguments and their addresses. The C library's startup code passes
// these to main; its debug information would say so too, but takes longer to decompress
// than everything else in a small report.
//
// They are used only if all of this holds: main was called from within
// __libc_start_main of another image, that from the entry point of main's image, and
// above that frame are the arguments, the environment and an auxiliary vector whose
// AT_ENTRY is this entry point.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/arguments/argument_stack.h"

// argument_start_word gives the value of the register with DWARF number reg when call
// index of stack was entered. False: that call is not main, or the value is not known.
bool argument_start_word(const struct argument_stack *stack, size_t index, unsigned reg,
                         uint64_t *out);

// argument_start_count gives the number of arguments of a process whose initial words
// are at stack and whose entry point is entry. False: there are no such words.
bool argument_start_count(const struct memory_reader *memory, uint64_t stack,
                          uint64_t entry, uint64_t *out_count);
