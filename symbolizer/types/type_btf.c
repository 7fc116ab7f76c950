// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/types/type_btf.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "formats/debug/btf.h"
#include "formats/debug/elf.h"
#include "symbolizer/types/type_check.h"

enum { POINTER_SIZE = 8, POINTER_SIZE_32 = 4 };

// A btf_place is where a type of BTF is in the table.
struct btf_place {
    uint32_t index;   // 0: it has no place there of its own
    uint32_t instead; // of a tag, a function or a variable: the type that it refers to
};

struct type_btf {
    struct type_table *table;
    struct btf_place *places; // by number; 0 is void
    size_t count;
    size_t capacity;
    // Of several dictionaries that continue the same one, the one being read has its
    // places from own to end, for the numbers from shared on.
    size_t shared;
    size_t own;
    size_t end; // 0: it has all of them
    uint64_t pointer_size;
    enum ctf_order order; // of the dimensions of arrays
    bool marks_signs;     // of enums
    const char *unit;     // of types where units differ; NULL: irrelevant
};

// btf_section finds the section in an ELF file; other bytes are one.
static enum ch_status btf_section(struct type_btf *types, const struct type_bytes *file,
                                  struct cursor *out)
{
    struct elf_view elf;
    struct elf_section section;
    *out = cursor_over(file->bytes, file->size);
    if (elf_view_init(&elf, file->bytes, file->size) != CH_OK)
        return CH_OK;
    types->pointer_size = elf.header.is_64 ? POINTER_SIZE : POINTER_SIZE_32;
    // The kernel's, clang's and pahole's BTF nests arrays as C does.
    types->order = ctf_elf_order(&elf, CTF_ORDER_OF_C);
    enum ch_status status = elf_view_find_section(&elf, ".BTF", &section, NULL);
    if (status == CH_OK)
        *out = elf_section_cursor(&elf, &section);
    return status;
}

static bool btf_is_type(enum btf_kind kind)
{
    return kind != BTF_FUNCTION && kind != BTF_VARIABLE && kind != BTF_DATA_SECTION &&
           kind != BTF_DECLARATION_TAG && kind != BTF_TYPE_TAG;
}

// btf_add_place gives the next type its number, and a place if it is one.
static enum ch_status btf_add_place(struct type_btf *types, const struct type *type,
                                    bool placed, uint32_t instead)
{
    struct btf_place place = { .instead = instead };
    enum ch_status status = CH_OK;
    if (placed)
        status = type_table_add(types->table, type, &place.index);
    if (status == CH_OK && !array_reserve(&types->places, &types->capacity,
                                          types->count, sizeof(*types->places)))
        status = CH_ERR_NO_MEMORY;
    if (status == CH_OK)
        types->places[types->count++] = place;
    return status;
}

// btf_shows_signs returns true if a type shows that enums are marked as signed where
// they are. gcc before 13 marks none, and each char as a character. pahole, whose BTF
// is in files that such a gcc compiled, does the opposite.
static bool btf_shows_signs(const struct btf_type *type)
{
    if (type->kind == BTF_INTEGER)
        return strcmp(type->name, "char") == 0 && !(type->encoding & BTF_CHARACTER);
    return type->kind == BTF_ENUM_64 || (type->kind == BTF_ENUM && type->flag);
}

// btf_reserve gives all types their places, because they refer to each other in any
// order.
static enum ch_status btf_reserve(struct type_btf *types, struct btf btf)
{
    const struct type empty = { .name = "" };
    struct btf_type type;
    enum ch_status status;
    while ((status = btf_next_type(&btf, &type)) == CH_OK) {
        types->marks_signs |= btf_shows_signs(&type);
        status = btf_add_place(types, &empty, btf_is_type(type.kind), type.reference);
        if (status != CH_OK)
            return status;
    }
    return status == CH_END ? CH_OK : status;
}

// btf_resolve gives the index in the table of the type that BTF numbers so.
static enum ch_status btf_resolve(const struct type_btf *types, uint32_t number,
                                  uint32_t *out)
{
    for (int i = 0; i < TYPE_CHAIN_MAX; i++) {
        size_t at =
            number < types->shared ? number : number - types->shared + types->own;
        if (at >= (types->end != 0 ? types->end : types->count))
            return CH_ERR_MALFORMED;
        *out = types->places[at].index;
        if (*out != TYPE_UNKNOWN_INDEX)
            return CH_OK;
        number = types->places[at].instead;
    }
    return CH_ERR_MALFORMED;
}

static enum ch_status btf_make_slice(struct type_btf *types, uint32_t bits,
                                     uint32_t *type)
{
    const struct type slice = { .kind = TYPE_SLICE,
                                .name = "",
                                .target = *type,
                                .size = (bits + 7) / 8,
                                .bits = (uint16_t)bits };
    return bits == 0 ? CH_OK : type_table_add(types->table, &slice, type);
}

// btf_add_parts adds the parts of source to the type being made.
static enum ch_status btf_add_parts(struct type_btf *types, const struct btf *btf,
                                    struct btf_type *source, struct type *type)
{
    struct btf_part part;
    enum ch_status status;
    bool is_enum = type->kind == TYPE_ENUM;
    if (source->kind == BTF_ENUM_64 && !source->flag)
        type->encoding = TYPE_UNSIGNED;
    type->first_part = types->table->part_count;
    while ((status = btf_next_part(btf, source, &part)) == CH_OK) {
        if (source->is_big && part.type == 0 && part.name[0] == 0)
            continue; // it only adds to the offset
        if (type->kind == TYPE_FUNCTION && part.type == 0) {
            type->variadic = true;
            continue;
        }
        struct type_part added = { .name = part.name,
                                   .offset_bits = part.offset_bits,
                                   .value = part.value };
        // Without marks, most values of 2^31 and more are negative. Compilers that
        // write arrays in reverse are older than gcc 14.
        if (source->kind == BTF_ENUM && !types->marks_signs &&
            types->order == CTF_ORDER_REVERSED)
            added.value = (int32_t)(uint32_t)part.value;
        if (!is_enum)
            status = btf_resolve(types, part.type, &added.type);
        if (status == CH_OK)
            status = btf_make_slice(types, part.bits, &added.type);
        if (status == CH_OK)
            status = type_table_add_part(types->table, &added);
        if (status != CH_OK)
            return status;
    }
    type->part_count = types->table->part_count - type->first_part;
    return status == CH_END ? CH_OK : status;
}

// btf_convert makes type, which has its place in the table, from source.
static enum ch_status btf_convert(struct type_btf *types, const struct btf *btf,
                                  struct btf_type *source, struct type *type)
{
    static const uint8_t kinds[BTF_KIND_COUNT] = {
        [BTF_INTEGER] = TYPE_INTEGER,   [BTF_POINTER] = TYPE_POINTER,
        [BTF_ARRAY] = TYPE_ARRAY,       [BTF_STRUCT] = TYPE_STRUCT,
        [BTF_UNION] = TYPE_UNION,       [BTF_ENUM] = TYPE_ENUM,
        [BTF_FORWARD] = TYPE_FORWARD,   [BTF_TYPEDEF] = TYPE_TYPEDEF,
        [BTF_VOLATILE] = TYPE_VOLATILE, [BTF_CONST] = TYPE_CONST,
        [BTF_RESTRICT] = TYPE_RESTRICT, [BTF_PROTOTYPE] = TYPE_FUNCTION,
        [BTF_FLOAT] = TYPE_FLOAT,       [BTF_ENUM_64] = TYPE_ENUM,
        [BTF_CTF_FLOAT] = TYPE_FLOAT,   [BTF_CTF_SLICE] = TYPE_SLICE,
    };
    *type = (struct type){ .kind = kinds[source->kind],
                           .name = source->name,
                           .size = source->size,
                           .unit = source->unit != NULL ? source->unit : types->unit,
                           .count = source->count,
                           .encoding = source->encoding };
    if (source->kind == BTF_CTF_FLOAT)
        type->encoding = ctf_is_complex(source->encoding) ? TYPE_COMPLEX : 0;
    if (source->kind == BTF_CTF_SLICE) {
        if (source->offset_bits > UINT8_MAX)
            return CH_ERR_MALFORMED;
        type->offset_bits = (uint8_t)source->offset_bits;
        type->bits = source->bits;
    }
    if (type->kind == TYPE_FORWARD) {
        type->tag = source->flag ? TYPE_UNION : TYPE_STRUCT;
        return CH_OK;
    }
    if (type->kind == TYPE_POINTER)
        type->size = types->pointer_size;
    if (type->kind == TYPE_ENUM && source->part_count == 0 && source->size == 0) {
        type->kind = TYPE_FORWARD;
        type->tag = TYPE_ENUM;
        return CH_OK;
    }
    enum ch_status status = CH_OK;
    if (type->kind == TYPE_POINTER || type->kind == TYPE_ARRAY ||
        type->kind == TYPE_FUNCTION || type->kind >= TYPE_TYPEDEF)
        status = btf_resolve(types, source->reference, &type->target);
    return status == CH_OK && (type->kind == TYPE_STRUCT || type->kind == TYPE_UNION ||
                               type->kind == TYPE_ENUM || type->kind == TYPE_FUNCTION)
               ? btf_add_parts(types, btf, source, type)
               : status;
}

// btf_name_symbol adds a function or a variable.
static enum ch_status btf_name_symbol(struct type_btf *types,
                                      const struct btf_type *source)
{
    struct type_symbol symbol = { .name = source->name, .unit = types->unit };
    enum ch_status status = btf_resolve(types, source->reference, &symbol.type);
    if (status == CH_OK && source->kind == BTF_FUNCTION &&
        types->table->types[symbol.type].kind != TYPE_FUNCTION)
        return CH_ERR_MALFORMED;
    return status == CH_OK ? type_table_add_symbol(types->table, &symbol) : status;
}

// btf_fill makes the types in their places, or adds the functions and variables.
static enum ch_status btf_fill(struct type_btf *types, struct btf btf, uint32_t number,
                               bool symbols)
{
    struct btf_type source;
    struct type type;
    enum ch_status status;
    for (; (status = btf_next_type(&btf, &source)) == CH_OK; number++) {
        // gcc also writes functions without a name.
        bool is_symbol = source.name[0] != 0 &&
                         (source.kind == BTF_FUNCTION || source.kind == BTF_VARIABLE);
        if (symbols && is_symbol)
            status = btf_name_symbol(types, &source);
        else if (!symbols && btf_is_type(source.kind)) {
            status = btf_convert(types, &btf, &source, &type);
            types->table->types[types->places[number].index] =
                status == CH_OK ? type : (struct type){ .name = "" };
        }
        if (status != CH_OK)
            return status;
    }
    return status == CH_END ? CH_OK : status;
}

// btf_load_from adds what base has, if there is one, and then what file has.
static enum ch_status btf_load_from(struct type_btf *types, const struct btf *file,
                                    const struct btf *base)
{
    const struct type nothing = { .kind = TYPE_INTEGER,
                                  .name = "void",
                                  .encoding = TYPE_SIGNED };
    uint32_t first = types->table->count;
    enum ch_status status = btf_add_place(types, &nothing, true, 0);
    if (status == CH_OK && base != NULL)
        status = btf_reserve(types, *base);
    uint32_t number = (uint32_t)types->count;
    if (status == CH_OK)
        status = btf_reserve(types, *file);
    if (status == CH_OK && base != NULL)
        status = btf_fill(types, *base, 1, false);
    if (status == CH_OK)
        status = btf_fill(types, *file, number, false);
    if (status == CH_OK)
        status = type_check(types->table, first);
    if (status == CH_OK)
        status = type_order_set(types->table, first, types->order);
    if (status == CH_OK && base != NULL)
        status = btf_fill(types, *base, 1, true);
    return status == CH_OK ? btf_fill(types, *file, number, true) : status;
}

bool type_btf_continues(const struct type_bytes *file)
{
    struct type_btf types = { .table = NULL };
    CH_CLEANUP(btf_deinit) struct btf btf = { .unit = NULL };
    struct cursor bytes;
    return btf_section(&types, file, &bytes) == CH_OK &&
           btf_init(&btf, bytes, NULL) == CH_OK && btf.continues;
}

enum ch_status type_btf_load(struct type_table *table, const struct type_bytes *file,
                             const struct type_bytes *base)
{
    struct type_btf types = { .table = table,
                              .pointer_size = POINTER_SIZE,
                              .order = CTF_ORDER_OF_C };
    struct cursor bytes;
    CH_CLEANUP(btf_deinit) struct btf own = { .unit = NULL };
    CH_CLEANUP(btf_deinit) struct btf below = { .unit = NULL };
    enum ch_status status = CH_OK;
    bool is_split = base->bytes != NULL;
    if (is_split && (status = btf_section(&types, base, &bytes)) == CH_OK)
        status = btf_init(&below, bytes, NULL);
    if (status == CH_OK)
        status = btf_section(&types, file, &bytes);
    if (status == CH_OK)
        status = btf_init(&own, bytes, is_split ? &below : NULL);
    // CTF of a bare section is loaded by those who keep what it inflates to.
    if (status == CH_OK && own.is_ctf)
        status = CH_ERR_NOT_FOUND;
    if (status == CH_OK)
        status = btf_load_from(&types, &own, is_split ? &below : NULL);
    free(types.places);
    return status;
}

// btf_select makes number the dictionary that is being read: its types, and those of
// the first one if it continues that.
static void btf_select(struct type_btf *types, const struct btf *dicts, size_t number,
                       const size_t *starts)
{
    bool continues = dicts[number].base != NULL;
    types->shared = continues ? starts[1] : 1; // 0 is void
    types->own = starts[number];
    types->end = starts[number + 1];
    types->unit = continues ? dicts[number].unit : NULL;
}

// btf_add_elf_symbols adds the functions and variables to which a dictionary gives
// types by the ELF symbols.
static enum ch_status btf_add_elf_symbols(struct type_btf *types, const struct btf *btf,
                                          const struct ctf_outside *outside)
{
    const struct ctf_dict dict = {
        .sections = { [CTF_OBJECTS] = btf->symbols[BTF_OBJECTS],
                      [CTF_FUNCTIONS] = btf->symbols[BTF_FUNCTIONS],
                      [CTF_OBJECT_NAMES] = btf->symbols[BTF_OBJECT_NAMES],
                      [CTF_FUNCTION_NAMES] = btf->symbols[BTF_FUNCTION_NAMES],
                      [CTF_STRINGS] = btf->strings },
        .outside = *outside,
    };
    struct ctf_symbols symbols;
    struct ctf_symbol symbol;
    enum ch_status status;
    bool named = cursor_left(&btf->symbols[BTF_OBJECT_NAMES]) != 0 ||
                 cursor_left(&btf->symbols[BTF_FUNCTION_NAMES]) != 0;
    if (named && btf->base != NULL) // names may be among those of the base
        return CH_OK;
    ctf_symbols_init(&symbols, &dict);
    while ((status = ctf_next_symbol(&symbols, &symbol)) == CH_OK) {
        struct type_symbol added = { .name = symbol.name, .unit = types->unit };
        status = btf_resolve(types, symbol.type, &added.type);
        if (status == CH_OK && symbol.kind == CTF_SYMBOL_FUNCTION &&
            types->table->types[added.type].kind != TYPE_FUNCTION)
            status = CH_ERR_MALFORMED;
        if (status == CH_OK)
            status = type_table_add_symbol(types->table, &added);
        if (status != CH_OK)
            return status;
    }
    return status == CH_END ? CH_OK : status;
}

static enum ch_status btf_load_dicts(struct type_btf *types, const struct btf *dicts,
                                     size_t count, const struct ctf_outside *outside,
                                     size_t *starts)
{
    const struct type nothing = { .kind = TYPE_INTEGER,
                                  .name = "void",
                                  .encoding = TYPE_SIGNED };
    uint32_t first = types->table->count;
    enum ch_status status = btf_add_place(types, &nothing, true, 0);
    for (size_t i = 0; status == CH_OK && i < count; i++) {
        starts[i] = types->count;
        status = btf_reserve(types, dicts[i]);
        starts[i + 1] = types->count;
    }
    for (size_t i = 0; status == CH_OK && i < count; i++) {
        btf_select(types, dicts, i, starts);
        status = btf_fill(types, dicts[i], (uint32_t)starts[i], false);
    }
    if (status == CH_OK)
        status = type_check(types->table, first);
    if (status == CH_OK)
        status = type_order_set(types->table, first, types->order);
    for (size_t i = 0; status == CH_OK && i < count; i++) {
        btf_select(types, dicts, i, starts);
        status = btf_fill(types, dicts[i], (uint32_t)starts[i], true);
        if (status == CH_OK)
            status = btf_add_elf_symbols(types, &dicts[i], outside);
    }
    return status;
}

enum ch_status type_btf_load_dicts(struct type_table *table, const struct btf *dicts,
                                   size_t count, const struct ctf_outside *outside)
{
    bool narrow = outside->elf != NULL && !outside->elf->header.is_64;
    struct type_btf types = { .table = table,
                              .pointer_size = narrow ? POINTER_SIZE_32 : POINTER_SIZE,
                              .order = CTF_ORDER_OF_C };
    size_t *starts = calloc(count + 1, sizeof(*starts));
    enum ch_status status = starts != NULL
                                ? btf_load_dicts(&types, dicts, count, outside, starts)
                                : CH_ERR_NO_MEMORY;
    free(starts);
    free(types.places);
    return status;
}
