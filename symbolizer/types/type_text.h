// SPDX-License-Identifier: Apache-2.0
//
// Structures that hold text: the strings of C++ (libstdc++ and libc++), and the string
// slices of Rust and Go. They are recognized by their name and their members, so that a
// class of the program's own that happens to have the name is shown by its members.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "symbolizer/types/type_table.h"

// A type_text is where a structure has its text: size bytes at address.
struct type_text {
    uint64_t address;
    uint64_t size;
};

// type_text_is says whether objects of the type, without typedefs and qualifiers, hold
// text.
bool type_text_is(const struct type_table *table, uint32_t index);

// type_text_find reads where the object at address, of such a type, has its text.
// False: it cannot be read, or contradicts itself, like an object before its
// constructor.
bool type_text_find(const struct type_table *table, uint32_t index,
                    const struct memory_reader *memory, uint64_t address,
                    struct type_text *out);
