// SPDX-License-Identifier: Apache-2.0
//
// The scopes of a unit are its functions and inlined calls, indexed by address when the
// first address of the unit is looked up. A lookup gives the innermost scope; its
// parents are the calls it was inlined through, and finally the function.
//
// Names and call sites are not read here: only scopes that are found by a lookup need
// them.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "base/status.h"
#include "symbolizer/names/address_map.h"

// UNIT_SCOPE_NONE is the parent of functions, and the result for addresses in no
// function.
#define UNIT_SCOPE_NONE ADDRESS_MAP_NONE

struct unit_scope {
    uint64_t die_offset; // as dwarf_offdie expects it
    uint32_t parent;
    uint32_t site : 31; // 1 + index of the owner's data on it; 0: none
    uint32_t inlined : 1;
};

struct unit_scopes {
    Dwarf *dwarf;    // of the unit: not the skeleton's if it is split
    bool refers_out; // as die_scan says
    struct unit_scope *scopes;
    size_t count;
    size_t capacity;
    struct address_map map;
};

// unit_scopes_part is which scopes are read.
enum unit_scopes_part {
    UNIT_SCOPES_ALL,
    UNIT_SCOPES_FUNCTIONS, // no inlined calls
    UNIT_SCOPES_OUTER,     // functions as DIE_SCAN_OUTER has them
};

// unit_scopes_read indexes unit. Ranges outside text, which linkers leave for functions
// that they dropped, are ignored. Of a damaged unit, what precedes the damage is kept.
CH_CHECKED enum ch_status unit_scopes_read(struct unit_scopes *out, Dwarf_Die *unit,
                                           const uint64_t text[2],
                                           enum unit_scopes_part part);

// unit_scopes_function gives the function that a scope is, or is inlined into;
// UNIT_SCOPE_NONE: none.
uint32_t unit_scopes_function(const struct unit_scopes *scopes, uint32_t scope);

// unit_scopes_deinit frees what scopes hold; zeroed ones are empty.
void unit_scopes_deinit(struct unit_scopes *scopes);
