// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/unit_spaces.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/sorted.h"

enum { DEPTH_MAX = 64 };

// open_spaces are the entries that enclose the current one, and their scopes.
struct open_spaces {
    Dwarf_Die die[DEPTH_MAX];
    uint32_t space[DEPTH_MAX];
    unsigned depth;
};

void unit_spaces_deinit(struct unit_spaces *spaces)
{
    free(spaces->spaces);
    free(spaces->members);
    *spaces = (struct unit_spaces){ 0 };
}

static bool is_scope_entry(Dwarf_Die *die)
{
    switch (dwarf_tag(die)) {
    case DW_TAG_namespace:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
        return true;
    default:
        return false;
    }
}

// name_of_space gives the name of a scope. Only a namespace without one has a usual
// name.
static const char *name_of_space(Dwarf_Die *die)
{
    const char *name = dwarf_diename(die);
    bool unnamed = name == NULL && dwarf_tag(die) == DW_TAG_namespace;
    return unnamed ? "(anonymous namespace)" : name;
}

static enum ch_status add_space(struct unit_spaces *spaces, Dwarf_Die *die,
                                uint32_t parent)
{
    if (!array_reserve(&spaces->spaces, &spaces->capacity, spaces->count,
                       sizeof(spaces->spaces[0])))
        return CH_ERR_NO_MEMORY;
    spaces->spaces[spaces->count++] =
        (struct unit_space){ .name = name_of_space(die), .parent = parent };
    return CH_OK;
}

static enum ch_status add_member(struct unit_spaces *spaces, Dwarf_Die *die,
                                 uint32_t space)
{
    if (!array_reserve(&spaces->members, &spaces->member_capacity, spaces->member_count,
                       sizeof(spaces->members[0])))
        return CH_ERR_NO_MEMORY;
    spaces->members[spaces->member_count++] =
        (struct unit_member){ .die_offset = dwarf_dieoffset(die), .space = space };
    return CH_OK;
}

// visit_entry notes die, an entry of the scope `of`, and moves it to its first child if
// it is a scope with any; true says so.
static bool visit_entry(struct unit_spaces *spaces, struct open_spaces *open,
                        Dwarf_Die *die, enum ch_status *out_status)
{
    uint32_t of = open->depth != 0 ? open->space[open->depth - 1] : UNIT_SPACE_NONE;
    Dwarf_Die child;
    *out_status = CH_OK;
    if (dwarf_tag(die) == DW_TAG_subprogram && of != UNIT_SPACE_NONE)
        *out_status = add_member(spaces, die, of);
    if (!is_scope_entry(die) || open->depth == DEPTH_MAX ||
        dwarf_child(die, &child) != 0)
        return false;
    *out_status = add_space(spaces, die, of);
    if (*out_status != CH_OK)
        return false;
    open->die[open->depth] = *die;
    open->space[open->depth++] = (uint32_t)(spaces->count - 1);
    *die = child;
    return true;
}

// next_scope_entry moves die to the entry after it, of an enclosing scope if it was the
// last of its own; false: there are no more.
static bool next_scope_entry(struct open_spaces *open, Dwarf_Die *die)
{
    Dwarf_Die next;
    while (dwarf_siblingof(die, &next) != 0) {
        if (open->depth == 0)
            return false;
        *die = open->die[--open->depth];
    }
    *die = next;
    return true;
}

enum ch_status unit_spaces_read(struct unit_spaces *out, Dwarf_Die *unit)
{
    struct open_spaces open = { .depth = 0 };
    enum ch_status status = CH_OK;
    Dwarf_Die die;
    *out = (struct unit_spaces){ 0 };
    bool more = dwarf_child(unit, &die) == 0;
    while (more && status == CH_OK)
        more = visit_entry(out, &open, &die, &status) || next_scope_entry(&open, &die);
    if (status != CH_OK)
        unit_spaces_deinit(out);
    return status;
}

// append_space appends a scope and those around it, outermost first.
static enum ch_status append_space(const struct unit_spaces *spaces, uint32_t space,
                                   struct text *out)
{
    const char *names[DEPTH_MAX];
    size_t count = 0;
    for (; space != UNIT_SPACE_NONE && count < DEPTH_MAX;
         space = spaces->spaces[space].parent) {
        if (spaces->spaces[space].name == NULL)
            return CH_ERR_NOT_FOUND;
        names[count++] = spaces->spaces[space].name;
    }
    while (count-- > 0) {
        text_append_string(out, names[count]);
        text_append_string(out, "::");
    }
    return CH_OK;
}

enum ch_status unit_spaces_qualify(const struct unit_spaces *spaces,
                                   uint64_t die_offset, const char *name,
                                   struct text *out)
{
    size_t after =
        SORTED_UP_TO(spaces->members, spaces->member_count, die_offset, die_offset);
    if (after == 0 || spaces->members[after - 1].die_offset != die_offset)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = append_space(spaces, spaces->members[after - 1].space, out);
    if (status == CH_OK)
        text_append_string(out, name);
    return status;
}
