// SPDX-License-Identifier: Apache-2.0
//
// Bytes as JSON, by their C type.
//
// Structures are objects, with the members of unnamed structures among their own;
// numbers are numbers; enums are their names; `char` arrays, what a `char *` points to
// and objects that hold text are strings. Containers and other objects of libraries are
// what they hold (layout.h): {"container": "vector", "size", "items"}, a map {...,
// "entries": [[key, value], ...]}, a smart pointer {..., "address", "value"}, an
// optional or an enum of Rust {..., "choice", "value"}; what contradicts itself has
// "damaged". A reference of C++ is what it
// refers to, or its address where that is not known. A pointer that is followed is
// {"address", "value"}, one that was followed before is {"address", "seen"}, one to
// unreadable memory is {"address", "error"}; others are their address, and NULL is
// null. A truncated array ends in
// {"more": N}.
//
// Structures are written breadth first and within limits, so that an endless list takes
// no room from the other things that an object refers to.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/memory_reader.h"
#include "symbolizer/types/type_dwarf.h"
#include "symbolizer/types/type_table.h"

enum {
    TYPE_VALUE_POINTERS = 8,     // followed in a row
    TYPE_VALUE_ELEMENTS = 64,    // of an array
    TYPE_VALUE_STRING = 256,     // bytes
    TYPE_VALUE_COUNT_MAX = 4096, // values in all
    TYPE_VALUE_COUNT_BRIEF = 256 // where no pointers are followed
};

// A type_value says how values are made.
struct type_value {
    const struct type_table *table;
    const struct memory_reader *memory;
    struct type_dwarf *dwarf;     // reads types of which table has the name; NULL: none
    const struct held_file *held; // knows what was mapped; NULL: that is not known
    const struct layout_image *image; // of the types; NULL: not known
    const char *home;                 // masked in strings; NULL: not masked
    bool sanitize;                    // mask values whose names look like secrets
    int pointers;        // how many are followed, at most TYPE_VALUE_POINTERS
    bool cut;            // missing memory may be due to a limit, except at
    uint64_t known_from; // addresses from here to known_to
    uint64_t known_to;
};

// type_value_make makes a new value of the object of type at address, which the program
// calls name. NULL: out of memory.
json_t *type_value_make(const struct type_value *how, uint32_t type, uint64_t address,
                        const char *name);

// type_value_holds_text returns true if a string as the value of an object of the type
// is the program's text, and not a name, an address or a number.
bool type_value_holds_text(const struct type_table *table, uint32_t type);

// type_value_bytes_size gives the size of a number, an enumeration, a pointer that is
// shown as an address where none are followed, or an array of such that is no text:
// what is shown of it depends on its name and these bytes alone. 0: it is something
// else.
uint64_t type_value_bytes_size(const struct type_table *table, uint32_t type);
