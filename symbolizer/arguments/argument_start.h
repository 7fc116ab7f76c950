// SPDX-License-Identifier: Apache-2.0
//
// What main was called with, out of the words that the kernel put on the stack of a new
// process: how many arguments, their addresses. The C library's code that calls main
// passes these on; its debug information would say so too, but takes longer to
// decompress than all else about a small report.
//
// It counts only where all of it agrees: main was called from within __libc_start_main
// of another image, that from the entry point of main's own, and above that frame lie
// arguments, environment and an auxiliary vector whose AT_ENTRY is this entry point.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/arguments/argument_stack.h"

// argument_start_word gives what the register with DWARF number reg held when call
// number index of stack was entered. False: that call is not main, or it is not known.
bool argument_start_word(const struct argument_stack *stack, size_t index, unsigned reg,
                         uint64_t *out);

// argument_start_count gives how many arguments the process was started with whose
// first words are at stack, and whose program begins at entry. False: those are not
// such words.
bool argument_start_count(const struct memory_reader *memory, uint64_t stack,
                          uint64_t entry, uint64_t *out_count);
