// SPDX-License-Identifier: Apache-2.0
//
// What the general registers of each architecture are called, in reports and in
// disassembly, by their DWARF number. Of x86-64 each register has a name for the whole
// of it and for its low 4, 2 and 1 bytes.
//
// Vector registers, flags and segments have no name here. Users: agent, symbolizer.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// register_name_amd64 is the name of the low size bytes of a register: 8, 4, 2 or 1. Of
// rip there are 8 and 4. NULL: there is no such register.
const char *register_name_amd64(size_t number, size_t size);

// register_name_aarch64 is the name of a register: x0 to x30, sp, pc. NULL: there is no
// such register.
const char *register_name_aarch64(size_t number);

// register_find_amd64 finds the register that has that name, and of how many of its
// bytes it is the name. false: there is none.
bool register_find_amd64(const char *name, size_t *out_number, size_t *out_size);
