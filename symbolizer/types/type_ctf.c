// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/types/type_ctf.h"

#include <stdlib.h>
#include <string.h>

#include "symbolizer/types/type_btf.h"
#include "symbolizer/types/type_check.h"

// ALL_DICTS_MAX bounds the total of all dictionaries of a file, in types and in bytes:
// members of an archive may overlap, so the file's size is no bound.
#define ALL_DICTS_MAX ((size_t)256 << 20)

// Every enum gets the size of an int: linkers write it so, whatever the size was.
enum { POINTER_SIZE = 8, POINTER_SIZE_32 = 4, ENUM_SIZE = 4 };

// held_bytes is the memory that a dictionary takes.
static size_t held_bytes(const struct ctf_dict *dict)
{
    size_t bytes = dict->inflated_size + dict->type_count * sizeof(struct type);
    for (int i = 0; i < CTF_SECTION_COUNT; i++)
        bytes += (size_t)(dict->sections[i].end - dict->sections[i].begin);
    return bytes;
}

static enum ch_status open_dicts(struct type_ctf *ctf)
{
    size_t held = 0;
    ctf->dicts = calloc((size_t)ctf->file.count, sizeof(ctf->dicts[0]));
    ctf->first_types = calloc((size_t)ctf->file.count, sizeof(ctf->first_types[0]));
    ctf->parents = calloc((size_t)ctf->file.count, sizeof(ctf->parents[0]));
    if (ctf->dicts == NULL || ctf->first_types == NULL || ctf->parents == NULL)
        return CH_ERR_NO_MEMORY;
    for (; ctf->count < ctf->file.count; ctf->count++) {
        struct ctf_member member;
        struct ctf_dict *dict = &ctf->dicts[ctf->count];
        enum ch_status status = ctf_file_member(&ctf->file, ctf->count, &member);
        if (status == CH_OK)
            status = ctf_dict_open(dict, member.bytes, &ctf->all, &ctf->dynamic);
        held += held_bytes(dict);
        if (status == CH_OK && held > ALL_DICTS_MAX)
            status = CH_ERR_LIMIT;
        if (status != CH_OK) {
            ctf_dict_close(dict);
            return status;
        }
    }
    return CH_OK;
}

// find_parent finds the parent of a dictionary.
static enum ch_status find_parent(struct type_ctf *ctf, size_t child)
{
    ctf->parents[child] = child;
    if (!ctf->dicts[child].is_child)
        return CH_OK;
    for (size_t i = 0; i < ctf->count; i++) {
        struct ctf_member member;
        if (ctf_file_member(&ctf->file, i, &member) != CH_OK ||
            ctf->dicts[i].is_child ||
            strcmp(member.name, ctf->dicts[child].parent) != 0)
            continue;
        ctf->parents[child] = i;
        return CH_OK;
    }
    return CH_ERR_MALFORMED;
}

// resolve_ctf_type gives the index in the table of a type that dictionary dict refers
// to.
static enum ch_status resolve_ctf_type(const struct type_ctf *ctf, size_t dict,
                                       uint32_t id, uint32_t *out)
{
    uint32_t number = id & ~CTF_CHILD_BIT;
    if (id == 0) {
        *out = TYPE_UNKNOWN_INDEX;
        return CH_OK;
    }
    if (!(id & CTF_CHILD_BIT))
        dict = ctf->parents[dict];
    else if (!ctf->dicts[dict].is_child)
        return CH_ERR_MALFORMED;
    if (number == 0 || number > ctf->dicts[dict].type_count)
        return CH_ERR_MALFORMED;
    *out = ctf->first_types[dict] + number - 1;
    return CH_OK;
}

// add_parts adds the parts of source to the type being made.
static enum ch_status add_parts(const struct type_ctf *ctf, size_t dict,
                                struct ctf_type *source, struct type_table *table,
                                struct type *type)
{
    struct ctf_part part;
    enum ch_status status;
    type->first_part = table->part_count;
    while ((status = ctf_next_part(&ctf->dicts[dict], source, &part)) == CH_OK) {
        if (source->kind == CTF_FUNCTION && part.type == 0 && source->part_count == 0) {
            type->variadic = true;
            continue;
        }
        struct type_part added = { .name = part.name,
                                   .offset_bits = part.offset_bits,
                                   .value = part.value };
        status = resolve_ctf_type(ctf, dict, part.type, &added.type);
        if (status == CH_OK)
            status = type_table_add_part(table, &added);
        if (status != CH_OK)
            return status;
    }
    type->part_count = table->part_count - type->first_part;
    return status == CH_END ? CH_OK : status;
}

// set_encoding copies the encoding of an integer, a float or a slice.
static enum ch_status set_encoding(const struct ctf_type *source, struct type *type)
{
    if (source->kind == CTF_SLICE && source->offset_bits > UINT8_MAX)
        return CH_ERR_MALFORMED;
    type->bits = source->bits;
    type->offset_bits = (uint8_t)source->offset_bits;
    if (source->kind == CTF_INTEGER)
        type->encoding =
            source->encoding & (TYPE_SIGNED | TYPE_CHARACTER | TYPE_BOOLEAN);
    if (source->kind == CTF_FLOAT && ctf_is_complex(source->encoding))
        type->encoding = TYPE_COMPLEX;
    return CH_OK;
}

// is_reference returns true if a type of kind refers to another one.
static bool is_reference(enum ctf_kind kind)
{
    return kind == CTF_POINTER || kind == CTF_ARRAY || kind == CTF_FUNCTION ||
           (kind >= CTF_TYPEDEF && kind <= CTF_SLICE);
}

static uint64_t pointer_size(const struct type_ctf *ctf)
{
    bool narrow = ctf->file.is_elf && !ctf->file.elf.header.is_64;
    return narrow ? POINTER_SIZE_32 : POINTER_SIZE;
}

// convert_ctf_type fills type, which has its place in table, from type number of
// dictionary dict.
static enum ch_status convert_ctf_type(const struct type_ctf *ctf, size_t dict,
                                       uint32_t number, struct type_table *table,
                                       struct type *type)
{
    struct ctf_type source;
    enum ch_status status = ctf_dict_type(&ctf->dicts[dict], number, &source);
    if (status != CH_OK)
        return status;
    *type = (struct type){ .kind = (enum type_kind)source.kind, .name = source.name };
    if (ctf->dicts[dict].is_child)
        type->unit = ctf->dicts[dict].unit;
    if (is_reference(source.kind))
        status = resolve_ctf_type(ctf, dict, source.reference, &type->target);
    else if (source.kind != CTF_FORWARD)
        type->size = source.size;
    if (status != CH_OK)
        return status;
    switch (source.kind) {
    case CTF_POINTER:
        type->size = pointer_size(ctf);
        return CH_OK;
    case CTF_SLICE:
        type->size = source.size;
        return set_encoding(&source, type);
    case CTF_INTEGER:
    case CTF_FLOAT:
        return set_encoding(&source, type);
    case CTF_ARRAY:
        type->count = source.count;
        return resolve_ctf_type(ctf, dict, source.index_type, &source.index_type);
    case CTF_FORWARD:
        type->tag = (enum type_kind)source.reference;
        return source.reference == 0 ||
                       (source.reference >= CTF_STRUCT && source.reference <= CTF_ENUM)
                   ? CH_OK
                   : CH_ERR_MALFORMED;
    case CTF_ENUM:
        type->size = ENUM_SIZE;
        return add_parts(ctf, dict, &source, table, type);
    default:
        return add_parts(ctf, dict, &source, table, type);
    }
}

// type_ctf_reserve adds all types to table first, because they refer to each other in
// any order.
static enum ch_status type_ctf_reserve(struct type_ctf *ctf, struct type_table *table)
{
    const struct type empty = { .name = "" };
    for (size_t i = 0; i < ctf->count; i++) {
        ctf->first_types[i] = table->count;
        for (uint32_t j = 0; j < ctf->dicts[i].type_count; j++) {
            uint32_t index;
            enum ch_status status = type_table_add(table, &empty, &index);
            if (status != CH_OK)
                return status;
        }
    }
    return CH_OK;
}

static enum ch_status convert_all(struct type_ctf *ctf, struct type_table *table)
{
    for (size_t i = 0; i < ctf->count; i++) {
        for (uint32_t j = 0; j < ctf->dicts[i].type_count; j++) {
            struct type type;
            enum ch_status status = convert_ctf_type(ctf, i, j + 1, table, &type);
            if (status != CH_OK)
                return status;
            table->types[ctf->first_types[i] + j] = type;
        }
    }
    return CH_OK;
}

// dicts_order gives the order of dimensions in the dictionaries. Linkers since binutils
// 2.45 say it; otherwise it is that of the compilers.
static enum ctf_order dicts_order(const struct type_ctf *ctf)
{
    for (size_t i = 0; i < ctf->count; i++)
        if (ctf->dicts[i].is_c_order)
            return CTF_ORDER_OF_C;
    return ctf_file_order(&ctf->file);
}

// type_ctf_add_symbols adds the functions and variables of dictionary dict. Relocatable
// files list variables as data objects too, but each name is added once.
static enum ch_status type_ctf_add_symbols(const struct type_ctf *ctf, size_t dict,
                                           struct type_table *table)
{
    struct ctf_symbols symbols;
    struct ctf_symbol symbol;
    enum ch_status status;
    ctf_symbols_init(&symbols, &ctf->dicts[dict]);
    while ((status = ctf_next_symbol(&symbols, &symbol)) == CH_OK) {
        struct type_symbol added = { .name = symbol.name };
        if (ctf->dicts[dict].is_child)
            added.unit = ctf->dicts[dict].unit;
        status = resolve_ctf_type(ctf, dict, symbol.type, &added.type);
        if (status == CH_OK && symbol.kind == CTF_SYMBOL_FUNCTION &&
            table->types[added.type].kind != TYPE_FUNCTION)
            status = CH_ERR_MALFORMED;
        if (status == CH_OK)
            status = type_table_add_symbol(table, &added);
        if (status != CH_OK)
            return status;
    }
    return status == CH_END ? CH_OK : status;
}

// load_version_4 loads dictionaries of version 4. The first may be continued by the
// others.
static enum ch_status load_version_4(struct type_ctf *ctf, struct type_table *table)
{
    // Linkers write it, which know the dynamic symbols.
    const struct ctf_outside *outside =
        cursor_left(&ctf->dynamic.symbols) != 0 ? &ctf->dynamic : &ctf->all;
    size_t held = 0;
    ctf->version_4 = calloc((size_t)ctf->file.count, sizeof(ctf->version_4[0]));
    if (ctf->version_4 == NULL)
        return CH_ERR_NO_MEMORY;
    while (ctf->version_4_count < ctf->file.count) {
        struct btf *dict = &ctf->version_4[ctf->version_4_count];
        const struct btf *base = ctf->version_4_count != 0 ? ctf->version_4 : NULL;
        struct ctf_member member;
        enum ch_status status =
            ctf_file_member(&ctf->file, ctf->version_4_count++, &member);
        if (status == CH_OK)
            status = btf_init(dict, member.bytes, base);
        if (status == CH_ERR_NOT_FOUND) // archives have one version
            status = CH_ERR_MALFORMED;
        if (status == CH_OK && !dict->continues && dict->base != NULL)
            status = btf_init(dict, member.bytes, NULL); // BTF alone, not compressed
        dict->outside = outside->strings;
        held += dict->inflated_size + (size_t)(dict->types.end - dict->types.begin);
        held += (size_t)(dict->strings.end - dict->strings.begin);
        if (status == CH_OK && dict->continues && base == NULL)
            status = CH_ERR_MALFORMED;
        if (status == CH_OK && held > ALL_DICTS_MAX)
            status = CH_ERR_LIMIT;
        if (status != CH_OK)
            return status;
    }
    return type_btf_load_dicts(table, ctf->version_4, ctf->version_4_count, outside);
}

enum ch_status type_ctf_load(struct type_ctf *ctf, struct type_table *table,
                             const void *bytes, size_t size)
{
    *ctf = (struct type_ctf){ 0 };
    uint32_t first = table->count;
    enum ch_status status = ctf_file_init(&ctf->file, bytes, size);
    if (status != CH_OK)
        return status;
    ctf_file_outside(&ctf->file, false, &ctf->all);
    ctf_file_outside(&ctf->file, true, &ctf->dynamic);
    if (ctf_file_is_version_4(&ctf->file))
        return load_version_4(ctf, table);
    status = open_dicts(ctf);
    for (size_t i = 0; status == CH_OK && i < ctf->count; i++)
        status = find_parent(ctf, i);
    if (status == CH_OK)
        status = type_ctf_reserve(ctf, table);
    if (status == CH_OK)
        status = convert_all(ctf, table);
    if (status == CH_OK)
        status = type_check(table, first);
    if (status == CH_OK)
        status = type_order_set(table, first, dicts_order(ctf));
    for (size_t i = 0; status == CH_OK && i < ctf->count; i++)
        status = type_ctf_add_symbols(ctf, i, table);
    return status;
}

void type_ctf_unload(struct type_ctf *ctf)
{
    for (size_t i = 0; i < ctf->count; i++)
        ctf_dict_close(&ctf->dicts[i]);
    for (size_t i = 0; i < ctf->version_4_count; i++)
        btf_deinit(&ctf->version_4[i]);
    free(ctf->version_4);
    free(ctf->dicts);
    free(ctf->first_types);
    free(ctf->parents);
    *ctf = (struct type_ctf){ 0 };
}
