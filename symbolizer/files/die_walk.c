// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/files/die_walk.h"

#include <dwarf.h>
#include <stdint.h>
#include <string.h>

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

// ORIGINS_MAX is the longest chain of entries that are instances of one another.
enum { ORIGINS_MAX = 4 };

bool argument_origin_refer(Dwarf_Die *die, unsigned name, Dwarf_Die *out)
{
    Dwarf_Attribute attribute;
    return dwarf_attr(die, name, &attribute) != NULL &&
           dwarf_formref_die(&attribute, out) != NULL;
}

Dwarf_Die argument_origin_of(const Dwarf_Die *die)
{
    Dwarf_Die of = *die;
    for (int i = 0; i < ORIGINS_MAX; i++) {
        if (!argument_origin_refer(&of, DW_AT_abstract_origin, &of))
            break;
    }
    return of;
}

bool argument_origin_location(Dwarf_Die *die, unsigned name, Dwarf_Attribute *out)
{
    enum { ONE_BYTE_LENGTH = 0x80 };
    if (dwarf_attr_integrate(die, name, out) == NULL)
        return false;
    // Go writes expressions in the form that they had up to DWARF 3, which libdw does
    // not take for one in later versions. With a short length both are the same bytes.
    if (out->form == DW_FORM_block1 && out->valp[0] < ONE_BYTE_LENGTH)
        out->form = DW_FORM_exprloc;
    return true;
}

const char *argument_origin_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) == NULL &&
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute) == NULL)
        return dwarf_diename(die);
    return dwarf_formstring(&attribute);
}

bool argument_origin_is_external(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    bool external = false;
    return dwarf_attr_integrate(die, DW_AT_external, &attribute) != NULL &&
           dwarf_formflag(&attribute, &external) == 0 && external;
}

bool argument_origin_is(Dwarf_Die *origin, Dwarf_Die *function)
{
    Dwarf_Die of = *function;
    for (int i = 0; i < ORIGINS_MAX; i++) {
        if (of.addr == origin->addr)
            return true;
        if (!argument_origin_refer(&of, DW_AT_abstract_origin, &of) &&
            !argument_origin_refer(&of, DW_AT_specification, &of))
            break;
    }
    const char *name = argument_origin_name(origin);
    const char *own = argument_origin_name(function);
    return argument_origin_is_external(origin) &&
           argument_origin_is_external(function) && name != NULL && own != NULL &&
           strcmp(name, own) == 0;
}
