// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/unit_spaces.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/sorted.h"
#include "symbolizer/names/die_scan.h"

// open_spaces are the scopes that enclose the current entry.
struct open_spaces {
    uint32_t space[DIE_SCOPES_MAX];
    unsigned count;
};

void unit_spaces_deinit(struct unit_spaces *spaces)
{
    free(spaces->spaces);
    free(spaces->members);
    *spaces = (struct unit_spaces){ 0 };
}

// name_of_space gives the name of a scope. Only a namespace without one has a usual
// name.
static const char *name_of_space(const struct unit_spaces *spaces,
                                 const struct unit_space *space)
{
    Dwarf_Die die;
    if (dwarf_offdie(spaces->dwarf, space->die_offset, &die) == NULL)
        return NULL;
    const char *name = dwarf_diename(&die);
    bool unnamed = name == NULL && dwarf_tag(&die) == DW_TAG_namespace;
    return unnamed ? "(anonymous namespace)" : name;
}

static enum ch_status add_space(struct unit_spaces *spaces, uint64_t die_offset,
                                uint32_t parent)
{
    if (!array_reserve(&spaces->spaces, &spaces->capacity, spaces->count,
                       sizeof(spaces->spaces[0])))
        return CH_ERR_NO_MEMORY;
    spaces->spaces[spaces->count++] =
        (struct unit_space){ .die_offset = die_offset, .parent = parent };
    return CH_OK;
}

static enum ch_status add_member(struct unit_spaces *spaces, uint64_t die_offset,
                                 uint32_t space)
{
    if (!array_reserve(&spaces->members, &spaces->member_capacity, spaces->member_count,
                       sizeof(spaces->members[0])))
        return CH_ERR_NO_MEMORY;
    spaces->members[spaces->member_count++] =
        (struct unit_member){ .die_offset = die_offset, .space = space };
    return CH_OK;
}

// note_scope notes a scope, or a function that is in one. Entries follow each other
// as they are nested, so a scope at depth d has d - 1 around it.
static enum ch_status note_scope(struct unit_spaces *spaces, struct open_spaces *open,
                                 const struct die_member *member)
{
    if (open->count >= member->depth)
        open->count = member->depth - 1;
    uint32_t of = open->count != 0 ? open->space[open->count - 1] : UNIT_SPACE_NONE;
    if (!member->scope)
        return of != UNIT_SPACE_NONE ? add_member(spaces, member->offset, of) : CH_OK;
    enum ch_status status = add_space(spaces, member->offset, of);
    if (status == CH_OK && open->count < DIE_SCOPES_MAX)
        open->space[open->count++] = (uint32_t)(spaces->count - 1);
    return status;
}

enum ch_status unit_spaces_read(struct unit_spaces *out, Dwarf_Die *unit)
{
    struct open_spaces open = { .count = 0 };
    struct die_member member;
    struct die_scan scan;
    *out = (struct unit_spaces){ .dwarf = dwarf_cu_getdwarf(unit->cu) };
    enum ch_status status = die_scan_init(&scan, unit, DIE_SCAN_ALL);
    if (status != CH_OK)
        return status;
    while (status != CH_ERR_NO_MEMORY && die_scan_next_member(&scan, &member) == CH_OK)
        status = note_scope(out, &open, &member);
    die_scan_deinit(&scan);
    if (status != CH_OK)
        unit_spaces_deinit(out);
    return status;
}

// append_space appends a scope and those around it, outermost first.
static enum ch_status append_space(const struct unit_spaces *spaces, uint32_t space,
                                   struct text *out)
{
    const char *names[DIE_SCOPES_MAX];
    size_t count = 0;
    for (; space != UNIT_SPACE_NONE && count < DIE_SCOPES_MAX;
         space = spaces->spaces[space].parent) {
        names[count] = name_of_space(spaces, &spaces->spaces[space]);
        if (names[count++] == NULL)
            return CH_ERR_NOT_FOUND;
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
