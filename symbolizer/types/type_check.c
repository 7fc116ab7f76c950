// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/types/type_check.h"

#include "base/checked.h"
#include "symbolizer/types/type_name.h"

// ALL_NAMES_MAX bounds the work of checking names; real programs stay below it.
#define ALL_NAMES_MAX ((size_t)256 << 20)

// check_member checks that a member is inside its structure.
static enum ch_status check_member(const struct type_table *table,
                                   const struct type *type, uint32_t index,
                                   const struct type_part *member)
{
    if (type_strip(table, member->type) == index)
        return CH_ERR_MALFORMED;
    uint64_t end;
    uint64_t size_bits = type_size_bits(table, member->type);
    if (table->types[type_strip(table, member->type)].kind == TYPE_ENUM)
        size_bits = size_bits < 8 ? size_bits : 8; // it may be smaller than CTF says
    if (member->base != TYPE_BASE_NONE)
        size_bits = 0; // an empty one has a size; of others the padding may be in use
    if (!checked_add_u64(member->offset_bits, size_bits, &end) ||
        type->size > UINT64_MAX / 8 || end > type->size * 8)
        return CH_ERR_MALFORMED;
    return CH_OK;
}

static enum ch_status check_parts(const struct type_table *table, uint32_t index)
{
    const struct type *type = &table->types[index];
    bool has_members = type->kind == TYPE_STRUCT || type->kind == TYPE_UNION;
    for (uint32_t i = 0; i < type->part_count; i++) {
        const struct type_part *part = &table->parts[type->first_part + i];
        enum ch_status status =
            has_members ? check_member(table, type, index, part) : CH_OK;
        if (status != CH_OK)
            return status;
    }
    return CH_OK;
}

// is_sliced returns true if the type may have bit-fields.
static bool is_sliced(const struct type *type)
{
    return type->kind == TYPE_INTEGER || type->kind == TYPE_ENUM ||
           type->kind == TYPE_FLOAT;
}

static enum ch_status check_scalar(const struct type_table *table,
                                   const struct type *type)
{
    const struct type *target = &table->types[type_strip(table, type->target)];
    switch (type->kind) {
    case TYPE_ENUM:
        return type->size <= 16 ? CH_OK : CH_ERR_MALFORMED;
    case TYPE_INTEGER:
    case TYPE_FLOAT:
        return type->size <= 64 ? CH_OK : CH_ERR_MALFORMED;
    case TYPE_SLICE:
        return is_sliced(target) && type->bits <= 128 ? CH_OK : CH_ERR_MALFORMED;
    default:
        return CH_OK;
    }
}

// check_indexes checks that the types from first on refer to existing types.
static enum ch_status check_indexes(const struct type_table *table, uint32_t first)
{
    for (uint32_t i = first; i < table->count; i++) {
        const struct type *type = &table->types[i];
        if (type->target >= table->count)
            return CH_ERR_MALFORMED;
        for (uint32_t j = 0; j < type->part_count; j++)
            if (table->parts[type->first_part + j].type >= table->count)
                return CH_ERR_MALFORMED;
    }
    return CH_OK;
}

enum ch_status type_check_one(const struct type_table *table, uint32_t index,
                              struct text *name)
{
    uint64_t size;
    enum ch_status status = check_parts(table, index);
    if (status == CH_OK)
        status = check_scalar(table, &table->types[index]);
    if (status != CH_OK)
        return status;
    status = type_size(table, index, &size);
    if (status != CH_OK && status != CH_ERR_NOT_FOUND)
        return status;
    text_clear(name);
    return type_name(table, index, name);
}

enum ch_status type_check(const struct type_table *table, uint32_t first)
{
    struct text name = { 0 };
    size_t name_bytes = 0;
    enum ch_status status = check_indexes(table, first);
    for (uint32_t i = first; status == CH_OK && i < table->count; i++) {
        status = type_check_one(table, i, &name);
        name_bytes += name.size;
        if (name_bytes > ALL_NAMES_MAX)
            status = CH_ERR_LIMIT;
    }
    text_deinit(&name);
    return status == CH_ERR_LIMIT ? CH_ERR_MALFORMED : status;
}
