// SPDX-License-Identifier: Apache-2.0
//
// Where the entries of functions are in .debug_info (DWARF's DIEs), by address: who
// knows that needs not read a unit, of which a large C++ library's have tens of
// thousands of entries, to get at one function.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "symbolizer/names/unit_index.h"

// A unit_die is a function whose code begins, or goes on, at an address.
struct unit_die {
    uint64_t start;
    uint64_t unit; // offset of its unit's header in .debug_info
    uint64_t die;  // offset of its entry there
};

struct unit_dies {
    struct unit_die *items; // by start
    size_t count;
    size_t capacity;
};

// unit_dies_read lists the functions of all units of index that were opened, as
// unit_index_edges does, and that refer to no other unit and are not split.
CH_CHECKED enum ch_status unit_dies_read(struct unit_dies *out,
                                         const struct unit_index *index);

// unit_dies_deinit frees what dies hold; zeroed ones are empty.
void unit_dies_deinit(struct unit_dies *dies);
