// SPDX-License-Identifier: Apache-2.0
//
// Bytes as JSON, by their C type.
//
// Structures are objects, with the members of nameless structures among their own;
// numbers are numbers; enums their names; `char` arrays and what a `char *` leads to
// strings. A pointer that is followed is {"address", "value"}, one that was followed
// before {"address", "seen"}, one to nothing readable {"address", "error"}; others are
// their address, NULL is null. An array that is cut ends in {"more": N}.
//
// Structures are written breadth first and within limits, so that a list without an end
// takes nothing from what else hangs on an object.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/memory_reader.h"
#include "symbolizer/types/type_table.h"

enum {
    TYPE_VALUE_POINTERS = 8,    // one behind the other that are followed
    TYPE_VALUE_ELEMENTS = 64,   // of an array
    TYPE_VALUE_STRING = 256,    // bytes
    TYPE_VALUE_COUNT_MAX = 4096 // values in all
};

// A type_value is how values are made.
struct type_value {
    const struct type_table *table;
    const struct memory_reader *memory;
    const char *home;    // masked in strings; NULL: nothing is
    bool sanitize;       // values of names that look like secrets are masked
    int pointers;        // how many are followed, at most TYPE_VALUE_POINTERS
    bool cut;            // memory that is not there may have been left out by a limit,
    uint64_t known_from; // but not what pointers in here lead to
    uint64_t known_to;
};

// type_value_make gives the object of type at address, which the program calls name, as
// a new value. NULL: there is no memory for it.
json_t *type_value_make(const struct type_value *how, uint32_t type, uint64_t address,
                        const char *name);
