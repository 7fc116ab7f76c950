// SPDX-License-Identifier: Apache-2.0
//
// Where the members of a structure are, from .debug_info: just enough of DWARF 2 to 5
// (sections 7.5.2 to 7.5.6) for a reader that has no library for it and little time.
//
// Units other than the one that is named are passed over by their size. Names must
// stand in .debug_info itself (DW_FORM_string), as Go's linker writes them. Everything
// read once and forward; nothing is looked up by reference.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"

// A dwarf_member is a member that is wanted, and where it is.
struct dwarf_member {
    const char *name;
    uint64_t offset;
    bool found;
};

// dwarf_members_find looks for the members of structure `type`, which the unit of that
// name describes, in .debug_info with its .debug_abbrev. CH_ERR_NOT_FOUND: there is no
// such structure; members that it lacks are just not found. CH_ERR_TRUNCATED,
// CH_ERR_MALFORMED: the sections are damaged. CH_ERR_UNSUPPORTED: they have a form that
// is not known.
CH_CHECKED enum ch_status dwarf_members_find(struct cursor info, struct cursor abbrev,
                                             const char *unit, const char *type,
                                             struct dwarf_member *members,
                                             size_t count);
