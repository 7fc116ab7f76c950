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
#include <stdbool.h>

#include <elfutils/libdw.h>

// die_walk_next goes to the next child of the same parent. 0: die is it; anything else:
// there is none. So it fits in loops that begin with dwarf_child.
int die_walk_next(Dwarf_Die *die);

// die_walk_on leaves the entry at[*depth], whose children are not visited, and goes to
// its sibling or to that of the nearest entry around it that has one. Each of at is the
// current entry of its level. False: the walk has ended.
bool die_walk_on(Dwarf_Die *at, int *depth);

// die_walk_parent finds the entry that die is a child of.
bool die_walk_parent(const Dwarf_Die *die, Dwarf_Die *out);
