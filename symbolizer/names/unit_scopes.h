// SPDX-License-Identifier: Apache-2.0
//
// The scopes of a unit are its functions and inlined calls, indexed by address once,
// when the first address of the unit is asked for. A lookup gives the innermost scope;
// its parents are the calls it was inlined through, the last of them the function.
//
// Names and call sites are not read here: only scopes that are hit need them.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "base/status.h"
#include "symbolizer/names/address_map.h"

// UNIT_SCOPE_NONE is the parent of functions, and what addresses of no function have.
#define UNIT_SCOPE_NONE ADDRESS_MAP_NONE

struct unit_scope {
    uint64_t die_offset; // as dwarf_offdie takes it
    uint32_t parent;
    uint32_t site : 31; // 1 + index of what its owner found out about it; 0: nothing
    uint32_t inlined : 1;
};

struct unit_scopes {
    Dwarf *dwarf; // of the unit: another than the skeleton's when it is split
    struct unit_scope *scopes;
    size_t count;
    size_t capacity;
    struct address_map map;
};

// unit_scopes_read indexes unit. Ranges outside [text_low, text_high), as the linker
// leaves them for functions it dropped, are left out. A unit that is damaged further
// on keeps what came before the damage. functions_only leaves inlined calls out.
CH_CHECKED enum ch_status unit_scopes_read(struct unit_scopes *out, Dwarf_Die *unit,
                                           const uint64_t text[2], bool functions_only);

// unit_scopes_deinit frees what scopes hold; zeroed ones are empty.
void unit_scopes_deinit(struct unit_scopes *scopes);
