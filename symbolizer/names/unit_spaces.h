// SPDX-License-Identifier: Apache-2.0
//
// The namespaces and classes of a unit that its functions are members of. They are the
// scope of functions that have no linker's name, which would include it: compilers give
// none to functions that only one file can call.
//
// A unit is read once, when the first such function of it is named. Functions without a
// scope, and classes inside of functions, are not listed.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "base/status.h"
#include "base/text.h"

// UNIT_SPACE_NONE is the parent of an outermost scope.
#define UNIT_SPACE_NONE UINT32_MAX

struct unit_space {
    uint64_t die_offset; // of its entry, which has its name
    uint32_t parent;
};

// A unit_member is a function in a scope.
struct unit_member {
    uint64_t die_offset;
    uint32_t space;
};

// unit_spaces; zeroed, it is empty.
struct unit_spaces {
    Dwarf *dwarf;
    struct unit_space *spaces;
    size_t count;
    size_t capacity;
    struct unit_member *members; // in the order of their offsets
    size_t member_count;
    size_t member_capacity;
};

// unit_spaces_read reads those of unit. On failure nothing is held.
CH_CHECKED enum ch_status unit_spaces_read(struct unit_spaces *out, Dwarf_Die *unit);
void unit_spaces_deinit(struct unit_spaces *spaces);

// unit_spaces_qualify appends name, the name of the function at die_offset, after its
// scope: "settings::(anonymous namespace)::read". CH_ERR_NOT_FOUND: it has no scope, or
// one without a name.
CH_CHECKED enum ch_status unit_spaces_qualify(const struct unit_spaces *spaces,
                                              uint64_t die_offset, const char *name,
                                              struct text *out);
