// SPDX-License-Identifier: Apache-2.0
//
// Steps from one entry of debug information to the next, for files that may be damaged.
//
// An entry may state where its sibling is (DW_AT_sibling), and libdw believes it: a
// damaged entry that names an earlier one makes a walk of dwarf_siblingof endless, and
// one that leaves its parent makes a walk over several levels visit the same entries
// again at each level. Every step here leads to a higher offset, so that a walk visits
// no entry twice. Where a sibling is at a lower one, the list ends.
#pragma once
#include <elfutils/libdw.h>
#include <stdbool.h>

// die_walk_next goes to the next child of the same parent. 0: die is it; anything else:
// there is none. So it fits in loops that begin with dwarf_child.
int die_walk_next(Dwarf_Die *die);

// die_walk_on leaves the entry at[*depth], whose children are not visited, and goes to
// its sibling or to that of the nearest entry around it that has one. Each of at is the
// current entry of its level. False: the walk has ended.
bool die_walk_on(Dwarf_Die *at, int *depth);

// die_walk_parent finds the entry that die is a child of.
bool die_walk_parent(const Dwarf_Die *die, Dwarf_Die *out);

// Entries of inlined calls and of copies refer to the one that they are instances of.

// argument_origin_refer follows a reference of die, its attribute name; false: it has
// none.
bool argument_origin_refer(Dwarf_Die *die, unsigned name, Dwarf_Die *out);

// argument_origin_of gives the entry that die is an instance of, or die if it is none.
Dwarf_Die argument_origin_of(const Dwarf_Die *die);

// argument_origin_location gives the attribute of die, or of what it is an instance of,
// that says where something is. False: there is none.
bool argument_origin_location(Dwarf_Die *die, unsigned name, Dwarf_Attribute *out);

// argument_origin_name gives the linker's name of an entry's function, else its name in
// the source; NULL: it has none.
const char *argument_origin_name(Dwarf_Die *die);

// argument_origin_is_external returns true if other units see the entry's function.
bool argument_origin_is_external(Dwarf_Die *die);

// argument_origin_is returns true if origin is the entry of function: itself, the entry
// that it is an instance of, or its declaration in another unit.
bool argument_origin_is(Dwarf_Die *origin, Dwarf_Die *function);
