// SPDX-License-Identifier: Apache-2.0
//
// Numbers, enums and bit-fields in memory as JSON: the values without parts. Targets
// are little-endian.
#pragma once
#include <jansson.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "symbolizer/types/type_table.h"

// A type_place is where an object is.
struct type_place {
    uint32_t type;
    uint64_t address;
    uint8_t shift; // of a bit-field: its offset in its first byte
};

// type_scalar_value gives the integer, float, enum or bit-field at place. Numbers that
// JSON readers would round are strings in hex. NULL: it cannot be read.
json_t *type_scalar_value(const struct type_table *table,
                          const struct memory_reader *memory,
                          const struct type_place *place);
