// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/types/type_members.h"

// members_type gives the type whose members are accessed like those of the structure
// that part is in. NULL: there is none.
static const struct type *members_type(const struct type_table *table,
                                       const struct type_part *part)
{
    bool base = part->base == TYPE_BASE_PLAIN;
    const struct type *type =
        &table->types[base ? type_strip(table, part->type) : part->type];
    bool has_members = type->kind == TYPE_STRUCT || type->kind == TYPE_UNION;
    return has_members && (base || type->name[0] == 0) ? type : NULL;
}

static void members_enter(struct type_members *members, const struct type *type,
                          uint64_t offset_bits)
{
    members->levels[members->depth++] =
        (struct type_members_level){ .type = type, .offset_bits = offset_bits };
}

void type_members_init(struct type_members *members, const struct type_table *table,
                       const struct type *type)
{
    *members = (struct type_members){ .table = table };
    members_enter(members, type, 0);
}

bool type_members_next(struct type_members *members, struct type_member *out)
{
    *out = (struct type_member){ 0 };
    while (members->depth > 0) {
        struct type_members_level *level = &members->levels[members->depth - 1];
        if (level->next == level->type->part_count ||
            members->visited == TYPE_MEMBERS_MAX) {
            members->depth--;
            out->closes += members->depth > 0;
            continue;
        }
        members->visited++;
        out->part = &members->table->parts[level->type->first_part + level->next++];
        out->offset_bits = level->offset_bits + out->part->offset_bits;
        out->depth = members->depth - 1;
        const struct type *inner = members_type(members->table, out->part);
        out->opens = inner != NULL && members->depth < TYPE_MEMBERS_DEPTH;
        if (out->opens)
            members_enter(members, inner, out->offset_bits);
        return true;
    }
    return false;
}
