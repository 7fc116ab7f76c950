// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_abi.h"

#include "symbolizer/types/type_members.h"

enum { GENERAL_MAX = 6, VECTORS_MAX = 8, EIGHTBYTE_BITS = 64 };

// need is what an argument occupies.
struct need {
    bool unknown;
    bool memory;
    unsigned general;
    unsigned vectors;
    uint64_t size;
    bool wide; // aligned to 16 bytes
};

// classify_scalar classifies a value of type, which is no aggregate.
static struct need classify_scalar(const struct type *type)
{
    struct need need = { .size = type->size };
    bool is_complex = (type->encoding & TYPE_COMPLEX) != 0;
    if (type->kind == TYPE_FLOAT) {
        need.memory = type->size > (is_complex ? 16 : 8);
        need.wide = type->size == 16 && !is_complex;
        need.vectors = type->size > 8 && !need.memory ? 2 : 1;
        need.unknown = type->size > 16;
        return need;
    }
    need.unknown = type->size == 0 || type->size > 16;
    need.general = type->size > 8 ? 2 : 1;
    need.wide = type->size == 16;
    return need;
}

// abi_add_member adds a member to the classes of a small structure's eightbytes. False:
// its kind cannot be classified here.
static bool abi_add_member(const struct type_table *table,
                           const struct type_member *member, bool general[2],
                           bool *unaligned)
{
    uint32_t index = type_strip(table, member->part->type);
    uint64_t bits = type_size_bits(table, index);
    while (table->types[index].kind == TYPE_ARRAY)
        index = type_strip(table, table->types[index].target);
    const struct type *type = &table->types[index];
    bool is_bits = type->kind == TYPE_SLICE;
    if (member->opens)
        return true; // its members follow
    if (bits == 0 || type->kind == TYPE_STRUCT || type->kind == TYPE_UNION ||
        type->kind == TYPE_UNKNOWN || type->size > 8)
        return false;
    if (!is_bits && member->offset_bits % (type->size * 8) != 0)
        *unaligned = true;
    for (uint64_t at = member->offset_bits / EIGHTBYTE_BITS;
         at <= (member->offset_bits + bits - 1) / EIGHTBYTE_BITS && at < 2; at++)
        general[at] = general[at] || type->kind != TYPE_FLOAT;
    return true;
}

static struct need classify_structure(const struct type_table *table,
                                      const struct type *type)
{
    struct need need = { .size = type->size };
    struct type_members members;
    struct type_member member;
    bool general[2] = { false, false };
    bool unaligned = false;
    type_members_init(&members, table, type);
    while (type_members_next(&members, &member))
        if (!abi_add_member(table, &member, general, &unaligned))
            need.unknown = true;
    // A large structure is always passed in memory, but its alignment depends on its
    // members.
    need.memory = type->size > 16 || unaligned;
    if (need.memory || need.unknown || type->size == 0) {
        need.unknown = need.unknown && !need.memory;
        return need;
    }
    unsigned eightbytes = type->size > 8 ? 2 : 1;
    for (unsigned i = 0; i < eightbytes; i++) {
        need.general += general[i];
        need.vectors += !general[i];
    }
    return need;
}

static struct need classify_type(const struct type_table *table, uint32_t index)
{
    const struct type *type = &table->types[type_strip(table, index)];
    switch (type->kind) {
    case TYPE_STRUCT:
    case TYPE_UNION:
        return classify_structure(table, type);
    case TYPE_INTEGER:
    case TYPE_ENUM:
    case TYPE_POINTER:
    case TYPE_FLOAT:
        return classify_scalar(type);
    default:
        return (struct need){ .unknown = true };
    }
}

static bool is_void(const struct type_table *table, uint32_t index)
{
    const struct type *type = &table->types[type_strip(table, index)];
    return type->kind == TYPE_INTEGER && type->size == 0;
}

void argument_abi_init(struct argument_abi *abi, const struct type_table *table,
                       uint32_t result)
{
    *abi = (struct argument_abi){ .table = table };
    if (is_void(table, result))
        return;
    struct need need = classify_type(table, result);
    const struct type *type = &table->types[type_strip(table, result)];
    abi->lost = need.unknown;
    if (need.memory && type->kind != TYPE_FLOAT) // the caller passes its address
        abi->general = 1;
}

struct argument_abi_place argument_abi_next(struct argument_abi *abi, uint32_t type)
{
    static const uint8_t registers[GENERAL_MAX] = { 5, 4, 1, 2, 8, 9 };
    struct argument_abi_place place = { .kind = ARGUMENT_UNPLACED };
    struct need need = classify_type(abi->table, type);
    abi->lost = abi->lost || need.unknown;
    if (abi->lost)
        return place;
    bool fits = !need.memory && abi->general + need.general <= GENERAL_MAX &&
                abi->vectors + need.vectors <= VECTORS_MAX;
    if (!fits) {
        uint64_t alignment = need.wide ? 16 : 8;
        abi->stack = (abi->stack + alignment - 1) / alignment * alignment;
        place.kind = ARGUMENT_ON_STACK;
        place.offset = abi->stack;
        abi->stack += (need.size + 7) / 8 * 8;
        return place;
    }
    if (need.general == 1 && need.vectors == 0) {
        place.kind = ARGUMENT_GENERAL;
        place.reg = registers[abi->general];
    } else {
        place.kind = need.general == 0 ? ARGUMENT_VECTOR : ARGUMENT_SPLIT;
    }
    abi->general += need.general;
    abi->vectors += need.vectors;
    return place;
}
