// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/files/die_walk.h"

#include <stdint.h>

enum { LEVELS_MAX = 64 };

// step goes to the sibling of die if that begins after reached.
static int step(Dwarf_Die *die, const void *reached)
{
    Dwarf_Die next;
    int more = dwarf_siblingof(die, &next);
    if (more != 0)
        return more;
    if ((uintptr_t)next.addr <= (uintptr_t)reached)
        return -1;
    *die = next;
    return 0;
}

int die_walk_next(Dwarf_Die *die)
{
    return step(die, die->addr);
}

bool die_walk_on(Dwarf_Die *at, int *depth)
{
    const void *reached = at[*depth].addr;
    for (; *depth >= 0; (*depth)--)
        if (step(&at[*depth], reached) == 0)
            return true;
    return false;
}

bool die_walk_parent(const Dwarf_Die *die, Dwarf_Die *out)
{
    Dwarf_Die of = *die;
    Dwarf_Die parent;
    Dwarf_Die child;
    if (dwarf_diecu(&of, &parent, NULL, NULL) == NULL)
        return false;
    for (int level = 0; level < LEVELS_MAX; level++) {
        Dwarf_Die next;
        if (dwarf_child(&parent, &next) != 0)
            return false;
        // Of the children, the last one that does not begin after it is it or has it.
        do
            child = next;
        while (die_walk_next(&next) == 0 && (uintptr_t)next.addr <= (uintptr_t)of.addr);
        if (child.addr == of.addr)
            break;
        parent = child;
    }
    *out = parent;
    return child.addr == of.addr;
}
