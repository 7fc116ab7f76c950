// SPDX-License-Identifier: Apache-2.0
//
// How it works: type_dwarf_place gives a DIE an index in the table and queues it in
// `waiting`; read_waiting reads until the queue is empty, which places more. A DIE that
// was read in part and is needed whole is queued again (`again`).
// Invariants: a DIE has one index, found by its address (`entries`, at least half
// free); the parts of a type are contiguous, so members are added at once and their
// types read later; a type that contradicts itself becomes unknown and keeps its index.
#include "symbolizer/types/type_dwarf.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "symbolizer/files/die_walk.h"
#include "symbolizer/types/type_check.h"
#include "symbolizer/types/type_name.h"

// DIMENSIONS_MAX bounds the dimensions of one array.
enum { DIMENSIONS_MAX = 16 };

void type_dwarf_init(struct type_dwarf *types, Dwarf *dwarf, struct type_table *table)
{
    *types = (struct type_dwarf){ .dwarf = dwarf, .table = table };
}

void type_dwarf_deinit(struct type_dwarf *types)
{
    free(types->entries);
    free(types->waiting);
    free(types->again);
    free(types->dies);
    free(types->go);
    *types = (struct type_dwarf){ 0 };
}

// type_dwarf_find_slot gives the slot of die, or the free one where it belongs.
static struct type_dwarf_entry *type_dwarf_find_slot(struct type_dwarf_entry *entries,
                                                     size_t capacity, void *die)
{
    uint64_t hash = (uint64_t)(uintptr_t)die * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(hash >> 20) & (capacity - 1);
    while (entries[at].die != NULL && entries[at].die != die)
        at = (at + 1) & (capacity - 1);
    return &entries[at];
}

// grow_entries keeps at least half of the slots free.
static enum ch_status grow_entries(struct type_dwarf *types)
{
    if (types->entry_count * 2 < types->entry_capacity)
        return CH_OK;
    size_t capacity = types->entry_capacity != 0 ? types->entry_capacity * 2 : 1024;
    struct type_dwarf_entry *entries = calloc(capacity, sizeof(entries[0]));
    if (entries == NULL)
        return CH_ERR_NO_MEMORY;
    for (size_t i = 0; i < types->entry_capacity; i++)
        if (types->entries[i].die != NULL)
            *type_dwarf_find_slot(entries, capacity, types->entries[i].die) =
                types->entries[i];
    free(types->entries);
    types->entries = entries;
    types->entry_capacity = capacity;
    return CH_OK;
}

static enum ch_status push_waiting(struct type_dwarf *types, const Dwarf_Die *die,
                                   const struct type_dwarf_entry *entry)
{
    if (!array_reserve(&types->waiting, &types->waiting_capacity, types->waiting_count,
                       sizeof(types->waiting[0])))
        return CH_ERR_NO_MEMORY;
    types->waiting[types->waiting_count++] =
        (struct type_dwarf_waiting){ *die, entry->type, entry->part };
    return CH_OK;
}

// read_more adds an entry that was read in part to those to be read.
static enum ch_status read_more(struct type_dwarf *types, const Dwarf_Die *die,
                                enum type_dwarf_part part,
                                struct type_dwarf_entry *entry)
{
    if (!array_reserve(&types->again, &types->again_capacity, types->again_count,
                       sizeof(types->again[0])))
        return CH_ERR_NO_MEMORY;
    types->again[types->again_count++] = entry->type;
    entry->part = part;
    return push_waiting(types, die, entry);
}

// keep_die notes the entry of the type at index.
static enum ch_status keep_die(struct type_dwarf *types, const Dwarf_Die *die,
                               uint32_t index)
{
    size_t more = index + 1 - types->die_count;
    if (!array_reserve_many(&types->dies, &types->die_capacity, types->die_count, more,
                            sizeof(types->dies[0])))
        return CH_ERR_NO_MEMORY;
    memset(&types->dies[types->die_count], 0, more * sizeof(types->dies[0]));
    types->dies[index] = *die;
    types->die_count = index + 1;
    return CH_OK;
}

// type_dwarf_place gives die an index in the table, if it has none, and adds it to the
// entries to be read, if that part of it was not read.
static enum ch_status type_dwarf_place(struct type_dwarf *types, const Dwarf_Die *die,
                                       enum type_dwarf_part part, uint32_t *out)
{
    const struct type empty = { .name = "" };
    enum ch_status status = grow_entries(types);
    if (status != CH_OK)
        return status;
    struct type_dwarf_entry *slot =
        type_dwarf_find_slot(types->entries, types->entry_capacity, die->addr);
    if (slot->die == NULL) {
        status = type_table_add(types->table, &empty, &slot->type);
        slot->part = part;
        if (status == CH_OK)
            status = push_waiting(types, die, slot);
        if (status == CH_OK)
            status = keep_die(types, die, slot->type);
        if (status != CH_OK)
            return status;
        slot->die = die->addr;
        types->entry_count++;
    } else if (slot->part < part) {
        status = read_more(types, die, part, slot);
    }
    *out = slot->type;
    return status;
}

enum ch_status type_dwarf_add_basic(struct type_dwarf *types,
                                    enum type_dwarf_basic basic, uint32_t *out_index)
{
    static const struct {
        struct type type;
        enum type_dwarf_basic target; // of a pointer
    } basics[] = {
        [TYPE_DWARF_VOID] = { .type = { .kind = TYPE_INTEGER,
                                        .name = "void",
                                        .encoding = TYPE_SIGNED } },
        [TYPE_DWARF_CHAR] = { .type = { .kind = TYPE_INTEGER,
                                        .name = "char",
                                        .size = 1,
                                        .encoding = TYPE_SIGNED } },
        [TYPE_DWARF_NUMBER] = { .type = { .kind = TYPE_INTEGER,
                                          .name = "unsigned int",
                                          .size = 4 } },
        [TYPE_DWARF_ADDRESS] = { .type = { .kind = TYPE_POINTER,
                                           .name = "",
                                           .size = 8 },
                                 .target = TYPE_DWARF_VOID },
        [TYPE_DWARF_TEXT] = { .type = { .kind = TYPE_POINTER, .name = "", .size = 8 },
                              .target = TYPE_DWARF_CHAR },
    };
    struct type type = basics[basic].type;
    uint32_t *known = &types->basics[basic];
    if (*known == TYPE_UNKNOWN_INDEX && type.kind == TYPE_POINTER) {
        enum type_dwarf_basic of = basics[basic].target;
        if (types->basics[of] == TYPE_UNKNOWN_INDEX &&
            type_table_add(types->table, &basics[of].type, &types->basics[of]) != CH_OK)
            return CH_ERR_LIMIT;
        type.target = types->basics[of];
    }
    enum ch_status status = *known == TYPE_UNKNOWN_INDEX
                                ? type_table_add(types->table, &type, known)
                                : CH_OK;
    *out_index = *known;
    return status;
}

// lacks_origin returns true if the entry that die completes cannot be read: it may be
// in a supplementary file that is missing.
static bool lacks_origin(Dwarf_Die *die)
{
    static const unsigned names[] = { DW_AT_abstract_origin, DW_AT_specification };
    Dwarf_Die at = *die;
    for (int chain = 0; chain < TYPE_CHAIN_MAX; chain++) {
        Dwarf_Attribute attribute;
        Dwarf_Die next;
        if (dwarf_attr(&at, names[0], &attribute) == NULL &&
            dwarf_attr(&at, names[1], &attribute) == NULL)
            return false;
        if (dwarf_formref_die(&attribute, &next) == NULL)
            return true;
        at = next;
    }
    return true;
}

// place_type_of places a part of the type that die has.
static enum ch_status place_type_of(struct type_dwarf *types, Dwarf_Die *die,
                                    enum type_dwarf_part part, uint32_t *out)
{
    Dwarf_Attribute attribute;
    Dwarf_Die target;
    *out = TYPE_UNKNOWN_INDEX;
    if (dwarf_attr_integrate(die, DW_AT_type, &attribute) == NULL)
        return lacks_origin(die) ? CH_OK
                                 : type_dwarf_add_basic(types, TYPE_DWARF_VOID, out);
    if (dwarf_formref_die(&attribute, &target) == NULL)
        return CH_OK;
    return type_dwarf_place(types, &target, part, out);
}

// read_number stores the value of a numeric attribute.
static bool read_number(Dwarf_Die *die, unsigned name, uint64_t *out)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (dwarf_attr_integrate(die, name, &attribute) == NULL ||
        dwarf_formudata(&attribute, &value) != 0)
        return false;
    *out = value;
    return true;
}

// read_constant stores a constant that may be negative. Compilers write such as sdata
// alone, and mean data forms to be extended by zeros.
static bool read_constant(Dwarf_Attribute *attribute, Dwarf_Sword *out)
{
    Dwarf_Word value;
    if (dwarf_whatform(attribute) == DW_FORM_sdata ||
        dwarf_whatform(attribute) == DW_FORM_implicit_const)
        return dwarf_formsdata(attribute, out) == 0;
    if (dwarf_formudata(attribute, &value) != 0)
        return false;
    *out = (Dwarf_Sword)value;
    return true;
}

// has_unreadable_name returns true if the entry's name is where it cannot be read.
static bool has_unreadable_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    return dwarf_attr(die, DW_AT_name, &attribute) != NULL &&
           dwarf_formstring(&attribute) == NULL;
}

static const char *type_dwarf_name_of(Dwarf_Die *die)
{
    const char *name = dwarf_diename(die);
    if (name == NULL)
        name = has_unreadable_name(die) ? "?" : "";
    return name;
}

// location_of stores the offset of a member in bytes. False: it is not constant.
static bool location_of(Dwarf_Die *die, uint64_t *out)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *ops;
    size_t count;
    *out = 0;
    if (read_number(die, DW_AT_data_member_location, out) ||
        dwarf_attr(die, DW_AT_data_member_location, &attribute) == NULL)
        return true;
    if (dwarf_getlocation(&attribute, &ops, &count) != 0 || count != 1 ||
        ops[0].atom != DW_OP_plus_uconst) // DWARF 2
        return false;
    *out = ops[0].number;
    return true;
}

// virtual_location_of stores where the offset of a virtual base is, from where the
// object's table of virtual functions points. Compilers describe it by one expression.
static bool virtual_location_of(Dwarf_Die *die, int64_t *out)
{
    static const uint8_t expression[] = { DW_OP_dup,   DW_OP_deref, DW_OP_constu,
                                          DW_OP_minus, DW_OP_deref, DW_OP_plus };
    Dwarf_Attribute attribute;
    Dwarf_Op *ops;
    size_t count;
    if (dwarf_attr(die, DW_AT_data_member_location, &attribute) == NULL ||
        dwarf_getlocation(&attribute, &ops, &count) != 0 || count != sizeof(expression))
        return false;
    const Dwarf_Op *distance = &ops[2];
    bool literal = distance->atom >= DW_OP_lit0 && distance->atom <= DW_OP_lit31;
    bool constant = distance->atom >= DW_OP_const1u && distance->atom <= DW_OP_consts;
    for (size_t i = 0; i < count; i++)
        if (ops[i].atom != expression[i] &&
            !(&ops[i] == distance && (literal || constant)))
            return false;
    *out = literal ? DW_OP_lit0 - distance->atom : -(int64_t)distance->number;
    return true;
}

// place_bits makes the type of a bit-field from the type of its member.
static enum ch_status place_bits(struct type_dwarf *types, Dwarf_Die *die,
                                 uint64_t bits, struct type_part *part)
{
    uint64_t storage = 0;
    uint64_t from_top = 0;
    if (read_number(die, DW_AT_data_bit_offset, &part->offset_bits))
        storage = 0;
    else if (read_number(die, DW_AT_bit_offset, &from_top) &&
             read_number(die, DW_AT_byte_size, &storage)) // DWARF 2 and 3
        part->offset_bits += storage * 8 - from_top - bits;
    const struct type slice = { .kind = TYPE_SLICE,
                                .name = "",
                                .target = part->type,
                                .size = (bits + 7) / 8,
                                .bits = bits <= UINT16_MAX ? (uint16_t)bits : 0 };
    return type_table_add(types->table, &slice, &part->type);
}

// dwarf_base_name gives the name of the base class that an entry of inheritance adds.
static const char *dwarf_base_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Die base;
    return dwarf_attr(die, DW_AT_type, &attribute) != NULL &&
                   dwarf_formref_die(&attribute, &base) != NULL
               ? type_dwarf_name_of(&base)
               : "?";
}

// type_dwarf_add_member adds a member at once, because its type's parts must be
// contiguous; types that are placed meanwhile have their parts read later.
static enum ch_status type_dwarf_add_member(struct type_dwarf *types, Dwarf_Die *die,
                                            struct type *type, enum type_dwarf_part how)
{
    struct type_part part = { .name = type_dwarf_name_of(die) };
    uint64_t offset = 0;
    uint64_t alignment;
    uint64_t bits;
    if (dwarf_tag(die) == DW_TAG_inheritance)
        part.base =
            dwarf_hasattr(die, DW_AT_virtuality) ? TYPE_BASE_VIRTUAL : TYPE_BASE_PLAIN;
    bool placed = part.base == TYPE_BASE_VIRTUAL ? virtual_location_of(die, &part.value)
                                                 : location_of(die, &offset);
    if (!placed || has_unreadable_name(die)) {
        type->partial = true;
        return CH_OK;
    }
    enum ch_status status = place_type_of(types, die, how, &part.type);
    if (status != CH_OK)
        return status;
    if (part.base != TYPE_BASE_NONE)
        part.name = dwarf_base_name(die);
    if (read_number(die, DW_AT_alignment, &alignment) && alignment > type->alignment)
        type->alignment = alignment;
    part.offset_bits = offset * 8;
    if (read_number(die, DW_AT_bit_size, &bits))
        status = place_bits(types, die, bits, &part);
    return status == CH_OK ? type_table_add_part(types->table, &part) : status;
}

static enum ch_status add_enumerator(struct type_dwarf *types, Dwarf_Die *die,
                                     struct type *type)
{
    struct type_part part = { .name = type_dwarf_name_of(die) };
    Dwarf_Attribute attribute;
    Dwarf_Sword value;
    if (has_unreadable_name(die) ||
        dwarf_attr(die, DW_AT_const_value, &attribute) == NULL ||
        !read_constant(&attribute, &value))
        return CH_OK; // values of that name are shown as numbers
    unsigned form = dwarf_whatform(&attribute);
    if (value < 0 && form != DW_FORM_sdata && form != DW_FORM_implicit_const)
        type->encoding = TYPE_UNSIGNED;
    part.value = value;
    return type_table_add_part(types->table, &part);
}

static enum ch_status type_dwarf_add_argument(struct type_dwarf *types, Dwarf_Die *die,
                                              enum type_dwarf_part how)
{
    struct type_part part = { .name = type_dwarf_name_of(die) };
    enum ch_status status = place_type_of(types, die, how, &part.type);
    return status == CH_OK ? type_table_add_part(types->table, &part) : status;
}

// add_child adds one child of type's entry, if it is a part of the type.
static enum ch_status add_child(struct type_dwarf *types, struct type *type,
                                Dwarf_Die *child, enum type_dwarf_part how)
{
    switch (dwarf_tag(child)) {
    case DW_TAG_member:
    case DW_TAG_inheritance:
        if (dwarf_hasattr(child, DW_AT_declaration) ||
            dwarf_hasattr(child, DW_AT_external))
            return CH_OK; // a static member of C++
        return type_dwarf_add_member(types, child, type, how);
    case DW_TAG_enumerator:
        return add_enumerator(types, child, type);
    case DW_TAG_formal_parameter:
        return type_dwarf_add_argument(types, child, how);
    case DW_TAG_unspecified_parameters:
        type->variadic = true;
        return CH_OK;
    default:
        return CH_OK;
    }
}

// add_template_argument adds an argument of a template, or those of a pack. Of a type
// that is an argument, the name is read.
static enum ch_status add_template_argument(struct type_dwarf *types, Dwarf_Die *die)
{
    struct type_part part = { .name = type_dwarf_name_of(die) };
    Dwarf_Attribute attribute;
    Dwarf_Sword value;
    switch (dwarf_tag(die)) {
    case DW_TAG_template_value_parameter:
        if (dwarf_attr(die, DW_AT_const_value, &attribute) != NULL &&
            read_constant(&attribute, &value))
            part.value = value;
        return type_table_add_part(types->table, &part);
    case DW_TAG_typedef:
    case DW_TAG_template_type_parameter: {
        enum ch_status status = place_type_of(types, die, TYPE_DWARF_NAME, &part.type);
        return status == CH_OK ? type_table_add_part(types->table, &part) : status;
    }
    default:
        return CH_OK;
    }
}

// is_template_argument returns true if a child of a class is an argument of its
// template. gcc leaves out those of iterators of lists, which name a reference to one.
static bool is_template_argument(const struct type *type, Dwarf_Die *die)
{
    return dwarf_tag(die) != DW_TAG_typedef ||
           (strncmp(type->name, "_List_", strlen("_List_")) == 0 &&
            strcmp(type_dwarf_name_of(die), "reference") == 0);
}

// add_template_arguments adds the arguments of a template after its members.
static enum ch_status add_template_arguments(struct type_dwarf *types, Dwarf_Die *die,
                                             struct type *type)
{
    Dwarf_Die child;
    Dwarf_Die packed;
    enum ch_status status = CH_OK;
    uint32_t first = types->table->part_count;
    for (int more = dwarf_child(die, &child); more == 0 && status == CH_OK;
         more = die_walk_next(&child)) {
        bool pack = dwarf_tag(&child) == DW_TAG_GNU_template_parameter_pack;
        if (!pack && is_template_argument(type, &child))
            status = add_template_argument(types, &child);
        for (int left = pack ? dwarf_child(&child, &packed) : 1;
             left == 0 && status == CH_OK; left = die_walk_next(&packed))
            status = add_template_argument(types, &packed);
    }
    type->argument_count = types->table->part_count - first;
    return status;
}

// add_variant adds the member that a variant has.
static enum ch_status add_variant(struct type_dwarf *types, Dwarf_Die *variant,
                                  struct type *type, enum type_dwarf_part how)
{
    Dwarf_Die child;
    Dwarf_Attribute attribute;
    Dwarf_Sword value = 0;
    Dwarf_Block block; // of a number of 16 bytes, which are more than variants need
    bool has_value = dwarf_attr(variant, DW_AT_discr_value, &attribute) != NULL;
    bool chosen = has_value && read_constant(&attribute, &value);
    if (has_value && !chosen && dwarf_formblock(&attribute, &block) == 0 &&
        block.length >= sizeof(value)) {
        memcpy(&value, block.data, sizeof(value));
        chosen = true;
    }
    int more = dwarf_child(variant, &child);
    while (more == 0 && dwarf_tag(&child) != DW_TAG_member)
        more = die_walk_next(&child);
    if (more != 0)
        return CH_OK;
    uint32_t last = types->table->part_count;
    enum ch_status status = type_dwarf_add_member(types, &child, type, how);
    if (status != CH_OK || types->table->part_count == last)
        return status;
    types->table->parts[last].value = value;
    if (!chosen)
        type->count = last - type->first_part;
    return CH_OK;
}

// add_variants adds the number that selects a variant, of the unknown type if there is
// one variant, and the variants.
static enum ch_status add_variants(struct type_dwarf *types, Dwarf_Die *die,
                                   struct type *type, enum type_dwarf_part how)
{
    const struct type_part none = { .name = "" };
    Dwarf_Attribute attribute;
    Dwarf_Die child;
    enum ch_status status = type_table_add_part(types->table, &none);
    if (status == CH_OK && dwarf_attr(die, DW_AT_discr, &attribute) != NULL &&
        dwarf_formref_die(&attribute, &child) != NULL) {
        types->table->part_count--;
        status = type_dwarf_add_member(types, &child, type, how);
        if (type->partial)
            return status;
    }
    for (int more = dwarf_child(die, &child); more == 0 && status == CH_OK;
         more = die_walk_next(&child))
        if (dwarf_tag(&child) == DW_TAG_variant)
            status = add_variant(types, &child, type, how);
    type->variants = true;
    return status;
}

static enum ch_status add_children(struct type_dwarf *types, Dwarf_Die *die,
                                   struct type *type, enum type_dwarf_part how)
{
    Dwarf_Die child;
    enum ch_status status = CH_OK;
    type->first_part = types->table->part_count;
    int more = dwarf_child(die, &child);
    while (more == 0 && status == CH_OK && !type->variants) {
        status = dwarf_tag(&child) == DW_TAG_variant_part
                     ? add_variants(types, &child, type, how)
                     : add_child(types, type, &child, how);
        more = die_walk_next(&child);
    }
    type->part_count = types->table->part_count - type->first_part;
    if (status == CH_OK && strchr(type->name, '<') != NULL)
        status = add_template_arguments(types, die, type);
    return status;
}

// element_count_of stores the number of elements of a dimension, 0 where none is
// given. False: it is computed by the program.
static bool element_count_of(Dwarf_Die *subrange, uint32_t *out)
{
    Dwarf_Sword lower = 0;
    Dwarf_Sword upper;
    uint64_t count = 0;
    Dwarf_Attribute attribute;
    *out = 0;
    if (read_number(subrange, DW_AT_count, &count)) {
        *out = (uint32_t)count;
        return count <= UINT32_MAX;
    }
    if (dwarf_attr_integrate(subrange, DW_AT_upper_bound, &attribute) == NULL)
        return !dwarf_hasattr(subrange, DW_AT_count);
    if (!read_constant(&attribute, &upper))
        return false;
    if (dwarf_attr_integrate(subrange, DW_AT_lower_bound, &attribute) != NULL) {
        if (!read_constant(&attribute, &lower))
            return false;
    } else {
        Dwarf_Die unit;
        if (dwarf_diecu(subrange, &unit, NULL, NULL) == NULL ||
            dwarf_default_lower_bound(dwarf_srclang(&unit), &lower) != 0)
            return false;
    }
    // The bound of an array of no elements may be -1 in the width of its form.
    uint64_t elements = upper >= lower ? (uint64_t)upper - (uint64_t)lower + 1 : 0;
    *out = elements <= UINT32_MAX ? (uint32_t)elements : 0;
    return true;
}

// is_descriptor returns true if the array is elsewhere, at the address that its
// variable begins with: in Fortran, one that is allocatable or a pointer. It is shown
// as a pointer.
static bool is_descriptor(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *ops;
    size_t count;
    return dwarf_attr_integrate(die, DW_AT_data_location, &attribute) != NULL &&
           dwarf_getlocation(&attribute, &ops, &count) == 0 && count == 2 &&
           ops[0].atom == DW_OP_push_object_address && ops[1].atom == DW_OP_deref;
}

// read_array makes one array type for each dimension, with the last one outermost.
static enum ch_status read_array(struct type_dwarf *types, Dwarf_Die *die,
                                 struct type *type)
{
    uint32_t counts[DIMENSIONS_MAX] = { 0 };
    int dimensions = 0;
    Dwarf_Die child;
    if (is_descriptor(die)) {
        type->kind = TYPE_POINTER;
        type->size = sizeof(uint64_t);
        return CH_OK;
    }
    int more = dwarf_child(die, &child);
    while (more == 0 && dimensions < DIMENSIONS_MAX) {
        if (dwarf_tag(&child) == DW_TAG_subrange_type &&
            !element_count_of(&child, &counts[dimensions++])) {
            type->kind = TYPE_UNKNOWN;
            return CH_OK;
        }
        more = die_walk_next(&child);
    }
    for (int i = 0; i + 1 < dimensions; i++) {
        const struct type inner = {
            .kind = TYPE_ARRAY, .name = "", .target = type->target, .count = counts[i]
        };
        enum ch_status status = type_table_add(types->table, &inner, &type->target);
        if (status != CH_OK)
            return status;
    }
    type->count = dimensions > 0 ? counts[dimensions - 1] : 0;
    return CH_OK;
}

static void read_base(Dwarf_Die *die, struct type *type)
{
    uint64_t encoding = 0;
    (void)read_number(die, DW_AT_encoding, &encoding);
    type->kind = TYPE_INTEGER;
    if (encoding == DW_ATE_float || encoding == DW_ATE_complex_float ||
        encoding == DW_ATE_imaginary_float)
        type->kind = TYPE_FLOAT;
    if (encoding == DW_ATE_complex_float)
        type->encoding = TYPE_COMPLEX;
    if (encoding == DW_ATE_boolean)
        type->encoding = TYPE_BOOLEAN;
    if (encoding == DW_ATE_signed || encoding == DW_ATE_signed_char)
        type->encoding = TYPE_SIGNED;
    if (encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char)
        type->encoding |= TYPE_CHARACTER;
    if (type->size == 0 && type->name[0] == 0)
        type->kind = TYPE_UNKNOWN;
}

static enum type_kind kind_of(int tag)
{
    switch (tag) {
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
        return TYPE_POINTER;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
        return TYPE_STRUCT;
    case DW_TAG_union_type:
        return TYPE_UNION;
    case DW_TAG_enumeration_type:
        return TYPE_ENUM;
    case DW_TAG_typedef:
    case DW_TAG_subrange_type: // of Ada, Pascal and Modula
    case DW_TAG_atomic_type:   // without a name, it is its target
        return TYPE_TYPEDEF;
    case DW_TAG_const_type:
        return TYPE_CONST;
    case DW_TAG_volatile_type:
        return TYPE_VOLATILE;
    case DW_TAG_restrict_type:
        return TYPE_RESTRICT;
    case DW_TAG_array_type:
        return TYPE_ARRAY;
    case DW_TAG_base_type:
        return TYPE_INTEGER;
    case DW_TAG_subroutine_type:
    case DW_TAG_subprogram:
        return TYPE_FUNCTION;
    default:
        return TYPE_UNKNOWN;
    }
}

// part_of_target is which part is read of what a type refers to, other than as members.
// A reference is shown as what it refers to.
static enum type_dwarf_part part_of_target(const struct type *type,
                                           enum type_dwarf_part part)
{
    bool leads_on = type->kind == TYPE_FUNCTION ||
                    (type->kind == TYPE_POINTER && type->reference == 0);
    return leads_on && part != TYPE_DWARF_WHOLE ? TYPE_DWARF_NAME : part;
}

// read_tag_and_size gives what die's tag and size say of the type.
static struct type read_tag_and_size(Dwarf_Die *die)
{
    int tag = dwarf_tag(die);
    struct type type = { .kind = kind_of(tag), .name = type_dwarf_name_of(die) };
    (void)read_number(die, DW_AT_byte_size, &type.size);
    if (type.kind == TYPE_FUNCTION)
        type.name = "";
    if (type.kind == TYPE_POINTER && type.size == 0)
        type.size = sizeof(uint64_t);
    (void)read_number(die, DW_AT_alignment, &type.alignment);
    type.vector = dwarf_hasattr(die, DW_AT_GNU_vector);
    if (tag == DW_TAG_reference_type)
        type.reference = 1;
    if (tag == DW_TAG_rvalue_reference_type)
        type.reference = 2;
    return type;
}

// read_member_pointer makes a pointer to a member what the C++ ABI keeps for it: an
// offset, or the address of a function with what is added to the object's, by gcc's
// names.
static enum ch_status read_member_pointer(struct type_dwarf *types, Dwarf_Die *die,
                                          struct type *type)
{
    const struct type number = {
        .kind = TYPE_INTEGER, .name = "long", .size = 8, .encoding = TYPE_SIGNED
    };
    struct type code = { .kind = TYPE_POINTER, .name = "", .size = 8 };
    struct type_part parts[] = { { .name = "__pfn" },
                                 { .name = "__delta", .offset_bits = 64 } };
    Dwarf_Attribute attribute;
    Dwarf_Die target;
    *type = number;
    if (dwarf_formref_die(dwarf_attr(die, DW_AT_type, &attribute), &target) == NULL ||
        dwarf_tag(&target) != DW_TAG_subroutine_type)
        return CH_OK;
    enum ch_status status = place_type_of(types, die, TYPE_DWARF_NAME, &code.target);
    if (status == CH_OK)
        status = type_table_add(types->table, &code, &parts[0].type);
    if (status == CH_OK)
        status = type_table_add(types->table, &number, &parts[1].type);
    *type = (struct type){ .kind = TYPE_STRUCT,
                           .name = "",
                           .size = 16,
                           .first_part = types->table->part_count,
                           .part_count = 2 };
    for (size_t i = 0; status == CH_OK && i < 2; i++)
        status = type_table_add_part(types->table, &parts[i]);
    return status;
}

// type_dwarf_read_entry fills type from die.
static enum ch_status type_dwarf_read_entry(struct type_dwarf *types, Dwarf_Die *die,
                                            enum type_dwarf_part part,
                                            struct type *type)
{
    Dwarf_Die definition;
    Dwarf_Attribute signature;
    bool elsewhere = dwarf_attr(die, DW_AT_signature, &signature) != NULL;
    if (elsewhere && dwarf_formref_die(&signature, &definition) != NULL)
        die = &definition; // in a type unit
    *type = read_tag_and_size(die);
    enum type_kind kind = type->kind;
    if (kind == TYPE_STRUCT || kind == TYPE_UNION || kind == TYPE_ENUM) {
        if (!dwarf_hasattr(die, DW_AT_declaration) &&
            !dwarf_hasattr(die, DW_AT_signature))
            return part != TYPE_DWARF_NAME ? add_children(types, die, type, part)
                                           : CH_OK;
        type->kind = TYPE_FORWARD;
        type->tag = kind;
        return CH_OK;
    }
    if (dwarf_tag(die) == DW_TAG_ptr_to_member_type)
        return read_member_pointer(types, die, type);
    if (kind == TYPE_UNKNOWN)
        return CH_OK;
    if (kind == TYPE_INTEGER) {
        read_base(die, type);
        return CH_OK;
    }
    part = part_of_target(type, part);
    enum ch_status status = place_type_of(types, die, part, &type->target);
    if (status == CH_OK && kind == TYPE_ARRAY)
        status = read_array(types, die, type);
    if (status == CH_OK && kind == TYPE_FUNCTION)
        status = add_children(types, die, type, part);
    return status;
}

// forget_damaged makes a type that contradicts itself unknown.
static enum ch_status forget_damaged(struct type_table *table, uint32_t index,
                                     struct text *name)
{
    enum ch_status checked = type_check_one(table, index, name);
    if (checked != CH_OK && checked != CH_ERR_NO_MEMORY)
        table->types[index] = (struct type){ .name = table->types[index].name };
    return checked == CH_ERR_NO_MEMORY ? checked : CH_OK;
}

// forget_all_damaged does so with the types from first on and those that were read
// again.
static enum ch_status forget_all_damaged(struct type_dwarf *types, uint32_t first)
{
    struct text name = { 0 };
    enum ch_status status = CH_OK;
    for (uint32_t i = first; status == CH_OK && i < types->table->count; i++)
        status = forget_damaged(types->table, i, &name);
    for (size_t i = 0; status == CH_OK && i < types->again_count; i++)
        status = forget_damaged(types->table, types->again[i], &name);
    types->again_count = 0;
    text_deinit(&name);
    return status;
}

// read_waiting reads entries until all that were placed have been read.
static enum ch_status read_waiting(struct type_dwarf *types, uint32_t first)
{
    while (types->waiting_count > 0) {
        // The array may move while the entry is read.
        struct type_dwarf_waiting waiting = types->waiting[--types->waiting_count];
        struct type type;
        Dwarf_Die definition;
        if (waiting.part != TYPE_DWARF_NAME && types->find_definition != NULL &&
            dwarf_hasattr(&waiting.die, DW_AT_declaration) &&
            types->find_definition(types->context, &waiting.die, &definition))
            waiting.die = definition;
        enum ch_status status =
            type_dwarf_read_entry(types, &waiting.die, waiting.part, &type);
        if (status != CH_OK)
            return status;
        types->table->types[waiting.index] = type;
    }
    return forget_all_damaged(types, first);
}

enum ch_status type_dwarf_add_entry(struct type_dwarf *types, Dwarf_Die *die,
                                    enum type_dwarf_part part, uint32_t *out_index)
{
    uint32_t first = types->table->count;
    enum ch_status status = type_dwarf_place(types, die, part, out_index);
    return status == CH_OK ? read_waiting(types, first) : status;
}

enum ch_status type_dwarf_add_type_of(struct type_dwarf *types, Dwarf_Die *die,
                                      enum type_dwarf_part part, uint32_t *out_index)
{
    uint32_t first = types->table->count;
    enum ch_status status = place_type_of(types, die, part, out_index);
    return status == CH_OK ? read_waiting(types, first) : status;
}

void type_dwarf_complete(struct type_dwarf *types, uint32_t index)
{
    uint32_t first = types->table->count;
    uint32_t same;
    if (index >= types->die_count || types->dies[index].addr == NULL)
        return;
    // Out of memory, the type stays as it is.
    const Dwarf_Die die = types->dies[index];
    if (type_dwarf_place(types, &die, TYPE_DWARF_VALUE, &same) == CH_OK)
        (void)!read_waiting(types, first);
}

// type_dwarf_add_symbol adds the function or variable that die is.
static enum ch_status type_dwarf_add_symbol(struct type_dwarf *types, Dwarf_Die *die)
{
    struct type_symbol symbol = { .name = dwarf_diename(die) };
    bool is_function = dwarf_tag(die) == DW_TAG_subprogram;
    if (symbol.name == NULL || dwarf_hasattr(die, DW_AT_declaration))
        return CH_OK;
    enum ch_status status =
        is_function
            ? type_dwarf_add_entry(types, die, TYPE_DWARF_WHOLE, &symbol.type)
            : type_dwarf_add_type_of(types, die, TYPE_DWARF_WHOLE, &symbol.type);
    return status == CH_OK ? type_table_add_symbol(types->table, &symbol) : status;
}

// add_top adds a child of a unit's entry.
static enum ch_status add_top(struct type_dwarf *types, Dwarf_Die *die,
                              const char *name)
{
    int tag = dwarf_tag(die);
    uint32_t index;
    if (name != NULL && strcmp(type_dwarf_name_of(die), name) != 0)
        return CH_OK;
    if (tag == DW_TAG_subprogram || tag == DW_TAG_variable)
        return type_dwarf_add_symbol(types, die);
    if (kind_of(tag) == TYPE_UNKNOWN)
        return CH_OK;
    return type_dwarf_add_entry(types, die, TYPE_DWARF_WHOLE, &index);
}

enum ch_status type_dwarf_add_unit(struct type_dwarf *types, Dwarf_Die *unit,
                                   const char *name)
{
    Dwarf_Die child;
    int more = dwarf_child(unit, &child);
    while (more == 0) {
        enum ch_status status = add_top(types, &child, name);
        if (status != CH_OK)
            return status;
        more = die_walk_next(&child);
    }
    return CH_OK;
}

enum ch_status type_dwarf_add_all(struct type_dwarf *types, const char *name)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    while (dwarf_get_units(types->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
        enum ch_status status = type_dwarf_add_unit(types, &die, name);
        if (status != CH_OK)
            return status;
    }
    return CH_OK;
}
