// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/types/type_check.h"

#include <stdlib.h>
#include <string.h>

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
        if (target->kind != TYPE_INTEGER && target->kind != TYPE_ENUM &&
            target->kind != TYPE_FLOAT)
            return CH_ERR_MALFORMED; // it cannot be a bit-field
        return type->bits <= 128 ? CH_OK : CH_ERR_MALFORMED;
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

// An array_chain is array types that are directly nested, the outermost first.
struct array_chain {
    uint32_t counts[TYPE_CHAIN_MAX];
    int length;
    uint64_t elements; // in all; 0: too many to count
    uint32_t element;  // type of the innermost array's elements
};

// find_chain finds the arrays nested in type index of types, the first of which has the
// index first in the table. False: their order makes no difference.
static bool find_chain(const struct type *types, uint32_t first, uint32_t index,
                       struct array_chain *out)
{
    bool differs = false;
    out->length = 0;
    out->elements = 1;
    for (out->element = index;
         out->element >= first && types[out->element - first].kind == TYPE_ARRAY &&
         out->length < TYPE_CHAIN_MAX;
         out->element = types[out->element - first].target) {
        uint32_t count = types[out->element - first].count;
        out->counts[out->length++] = count;
        if (!checked_mul_u64(out->elements, count, &out->elements))
            out->elements = 0;
    }
    for (int i = 0; i < out->length; i++)
        differs = differs || out->counts[i] != out->counts[out->length - 1 - i];
    return differs;
}

// reverse_chain nests the arrays of type index the other way round, in new types: the
// inner ones may be used by themselves too.
static enum ch_status reverse_chain(struct type_table *table, uint32_t index,
                                    const struct array_chain *chain)
{
    struct type array = table->types[index];
    array.target = chain->element;
    for (int i = 0; i < chain->length; i++) {
        array.count = chain->counts[i];
        if (i + 1 == chain->length)
            break;
        enum ch_status status = type_table_add(table, &array, &array.target);
        if (status != CH_OK)
            return status;
    }
    table->types[index] = array;
    return CH_OK;
}

// flatten_chain makes one array of all elements: the order of dimensions does not
// change where each of them is.
static void flatten_chain(struct type *array, const struct array_chain *chain)
{
    array->flat = true;
    bool counted = chain->elements <= UINT32_MAX;
    array->count = counted ? (uint32_t)chain->elements : 0;
    array->target = counted ? chain->element : TYPE_UNKNOWN_INDEX;
}

enum ch_status type_order_set(struct type_table *table, uint32_t first,
                              enum ctf_order order)
{
    uint32_t count = table->count - first;
    struct array_chain chain;
    enum ch_status status = CH_OK;
    if (order == CTF_ORDER_REVERSED || count == 0)
        return CH_OK;
    struct type *before = malloc(count * sizeof(before[0]));
    if (before == NULL)
        return CH_ERR_NO_MEMORY;
    memcpy(before, &table->types[first], count * sizeof(before[0]));
    for (uint32_t i = 0; status == CH_OK && i < count; i++) {
        if (!find_chain(before, first, first + i, &chain))
            continue;
        if (order == CTF_ORDER_UNKNOWN)
            flatten_chain(&table->types[first + i], &chain);
        else if (table->count - first > 2 * count)
            status = CH_ERR_LIMIT;
        else
            status = reverse_chain(table, first + i, &chain);
    }
    free(before);
    return status;
}
