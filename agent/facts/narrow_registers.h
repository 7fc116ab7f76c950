// SPDX-License-Identifier: Apache-2.0
//
// The registers of a 32-bit program on x86-64. They are kept in the places of the wider
// ones, eax in that of rax, so that the rest of the agent needs to know nothing; unwind
// rules use i386's own numbers.
#pragma once
#include <stddef.h>

#include "unwind/unwind_types.h"

// narrow_registers_numbered gives the registers by i386's DWARF numbers.
struct unwind_registers
narrow_registers_numbered(const struct unwind_registers *registers);

// narrow_register_name is the register's name; NULL: there is none at number.
const char *narrow_register_name(size_t number);
