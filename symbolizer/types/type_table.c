// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/types/type_table.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/checked.h"

// type_table_grow makes room for one more of the count items of size bytes at *items.
static enum ch_status type_table_grow(void *items, uint32_t count, size_t *capacity,
                                      size_t size)
{
    if (count >= TYPE_TABLE_MAX && count >= *capacity)
        return CH_ERR_LIMIT;
    return array_reserve(items, capacity, count, size) ? CH_OK : CH_ERR_NO_MEMORY;
}

enum ch_status type_table_init(struct type_table *table)
{
    const struct type unknown = { .name = "" };
    uint32_t index;
    *table = (struct type_table){ 0 };
    return type_table_add(table, &unknown, &index);
}

void type_table_deinit(struct type_table *table)
{
    free(table->types);
    free(table->parts);
    free(table->symbols);
    *table = (struct type_table){ 0 };
}

enum ch_status type_table_add(struct type_table *table, const struct type *type,
                              uint32_t *out_index)
{
    enum ch_status status = type_table_grow(&table->types, table->count,
                                            &table->capacity, sizeof(table->types[0]));
    if (status != CH_OK)
        return status;
    table->types[table->count] = *type;
    *out_index = table->count++;
    return CH_OK;
}

enum ch_status type_table_add_part(struct type_table *table,
                                   const struct type_part *part)
{
    enum ch_status status =
        type_table_grow(&table->parts, table->part_count, &table->part_capacity,
                        sizeof(table->parts[0]));
    if (status != CH_OK)
        return status;
    table->parts[table->part_count++] = *part;
    return CH_OK;
}

enum ch_status type_table_add_symbol(struct type_table *table,
                                     const struct type_symbol *symbol)
{
    enum ch_status status =
        type_table_grow(&table->symbols, table->symbol_count, &table->symbol_capacity,
                        sizeof(table->symbols[0]));
    if (status != CH_OK)
        return status;
    table->symbols[table->symbol_count++] = *symbol;
    return CH_OK;
}

// is_transparent returns true if a type of kind is another name for its target.
static bool is_transparent(enum type_kind kind)
{
    return kind == TYPE_TYPEDEF || kind == TYPE_CONST || kind == TYPE_VOLATILE ||
           kind == TYPE_RESTRICT;
}

uint32_t type_strip(const struct type_table *table, uint32_t index)
{
    for (int i = 0; i < TYPE_CHAIN_MAX; i++) {
        if (!is_transparent(table->types[index].kind))
            return index;
        index = table->types[index].target;
    }
    return TYPE_UNKNOWN_INDEX;
}

enum ch_status type_size(const struct type_table *table, uint32_t index, uint64_t *out)
{
    uint64_t count = 1;
    for (int i = 0; i < TYPE_CHAIN_MAX; i++) {
        const struct type *type = &table->types[index];
        bool is_array = type->kind == TYPE_ARRAY;
        if (is_array && !checked_mul_u64(count, type->count, &count))
            return CH_ERR_LIMIT;
        index = type->target;
        if (is_array || is_transparent(type->kind))
            continue;
        if (type->kind == TYPE_FUNCTION || type->kind == TYPE_FORWARD ||
            type->kind == TYPE_UNKNOWN)
            return CH_ERR_NOT_FOUND;
        uint64_t size;
        if (!checked_mul_u64(count, type->size, &size) || size > INT64_MAX)
            return CH_ERR_LIMIT;
        *out = size;
        return CH_OK;
    }
    return CH_ERR_MALFORMED;
}

uint64_t type_size_bits(const struct type_table *table, uint32_t index)
{
    uint64_t size;
    uint32_t bare = type_strip(table, index);
    if (table->types[bare].kind == TYPE_SLICE)
        return table->types[bare].bits;
    if (type_size(table, index, &size) != CH_OK || size > INT64_MAX / 8)
        return 0;
    return size * 8;
}

const char *type_kind_name(enum type_kind kind)
{
    static const char *const names[] = {
        [TYPE_UNKNOWN] = "unknown", [TYPE_INTEGER] = "integer",
        [TYPE_FLOAT] = "float",     [TYPE_POINTER] = "pointer",
        [TYPE_ARRAY] = "array",     [TYPE_FUNCTION] = "function",
        [TYPE_STRUCT] = "struct",   [TYPE_UNION] = "union",
        [TYPE_ENUM] = "enum",       [TYPE_FORWARD] = "forward",
        [TYPE_TYPEDEF] = "typedef", [TYPE_VOLATILE] = "volatile",
        [TYPE_CONST] = "const",     [TYPE_RESTRICT] = "restrict",
        [TYPE_SLICE] = "slice",
    };
    return names[kind];
}

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
