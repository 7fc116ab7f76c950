// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/btf.h"

#include <stdlib.h>
#include <zlib.h>

enum {
    MAGIC = 0xeb9f,
    MAGIC_SWAPPED = 0x9feb,
    VERSION = 1,
    HEADER_MIN = 24,
    BTF_NAME_MAX = 4096,
};

// btf_limited_string gives the string at the start of strings, NULL if it is too long.
static const char *btf_limited_string(struct cursor strings)
{
    size_t left = cursor_left(&strings);
    strings = cursor_child(&strings, left < BTF_NAME_MAX ? left : BTF_NAME_MAX);
    return cursor_string(&strings);
}

// Version 4 of CTF: a second header after that of BTF. Its offsets, too, count from the
// end of BTF's.
enum {
    CTF_VERSION_FIELD = 5,
    CTF_COMPRESSED = 1,
    CTF_FLAGS = 5,           // 4: names of symbols are sorted
    CTF_HEADER = 32,         // without the tables of symbols, which later writers lack
    CTF_HEADER_SYMBOLS = 64, // with them
    CTF_RATIO_MAX = 1032,    // of zlib's format
    CTF_INFLATED_MAX = 64 << 20,
};

#define CTF_MAGIC_4 0xd167ae03a2c5u

// OUTSIDE_BIT in a name of CTF says that it is in the ELF file's strings.
#define OUTSIDE_BIT 0x80000000u

// btf_inflate replaces the sections after both headers by their inflated bytes, so that
// size bytes follow BTF's.
static enum ch_status btf_inflate(struct btf *btf, struct cursor *sections,
                                  size_t header, uint64_t size)
{
    cursor_seek(sections, header);
    size_t left = cursor_left(sections);
    if (size > CTF_INFLATED_MAX)
        return CH_ERR_LIMIT;
    if (!cursor_ok(sections) || size < header || (size - header) / CTF_RATIO_MAX > left)
        return CH_ERR_MALFORMED;
    btf->inflated = calloc(1, (size_t)size + 1);
    if (btf->inflated == NULL)
        return CH_ERR_NO_MEMORY;
    uLongf got = (uLongf)(size - header);
    int result =
        uncompress(btf->inflated + header, &got, cursor_take(sections, left), left);
    if (result == Z_MEM_ERROR)
        return CH_ERR_NO_MEMORY;
    if (result != Z_OK || got != size - header)
        return CH_ERR_MALFORMED;
    bool big_endian = sections->big_endian;
    btf->inflated_size = (size_t)size;
    *sections = cursor_over(btf->inflated, (size_t)size);
    sections->big_endian = big_endian;
    return CH_OK;
}

// A btf_layout is where the types and strings of a section are, after BTF's header.
struct btf_layout {
    uint32_t type_offset;
    uint32_t type_size;
    uint32_t string_offset;
    uint32_t string_size;
};

// btf_read_ctf reads the second header, if there is one. sections begin after the first
// one, and are inflated if they are compressed. unit is the name of the unit.
static enum ch_status btf_read_ctf(struct btf *btf, struct cursor *sections,
                                   const struct btf_layout *layout, uint32_t *unit)
{
    static const enum btf_symbol_table tables[] = { BTF_OBJECTS, BTF_FUNCTIONS,
                                                    BTF_OBJECT_NAMES,
                                                    BTF_FUNCTION_NAMES };
    uint32_t places[BTF_SYMBOL_TABLES][2] = { { 0 } };
    struct cursor c = *sections;
    uint64_t magic = cursor_u64(&c);
    if (!cursor_ok(&c) || magic >> 16 != CTF_MAGIC_4)
        return CH_OK;
    uint64_t flags = cursor_u64(&c);
    if ((magic & 0xffff) != CTF_VERSION_FIELD || flags & ~(uint64_t)CTF_FLAGS)
        return CH_ERR_UNSUPPORTED;
    *unit = cursor_u32(&c);
    uint32_t parent_strings = cursor_u32(&c);
    uint32_t parent_types = cursor_u32(&c);
    bool has_symbols = layout->type_offset >= CTF_HEADER_SYMBOLS;
    for (int i = 0; has_symbols && i < BTF_SYMBOL_TABLES; i++) {
        places[i][0] = cursor_u32(&c);
        places[i][1] = cursor_u32(&c);
    }
    if (!cursor_ok(&c))
        return CH_ERR_TRUNCATED;
    btf->is_ctf = true;
    btf->continues = parent_strings != 0 || parent_types != 0;
    btf->is_compressed = flags & CTF_COMPRESSED;
    enum ch_status status =
        btf->is_compressed
            ? btf_inflate(btf, sections, has_symbols ? CTF_HEADER_SYMBOLS : CTF_HEADER,
                          (uint64_t)layout->string_offset + layout->string_size)
            : CH_OK;
    for (int i = 0; status == CH_OK && i < BTF_SYMBOL_TABLES; i++) {
        c = *sections;
        cursor_seek(&c, places[i][0]);
        btf->symbols[tables[i]] = cursor_child(&c, places[i][1]);
        if (!cursor_ok(&c))
            status = CH_ERR_TRUNCATED;
    }
    return status;
}

// btf_string gives the string that a name refers to, NULL if there is none.
static const char *btf_string(const struct btf *btf, uint32_t name)
{
    struct cursor outside = btf->outside;
    if (btf->is_ctf && name & OUTSIDE_BIT) {
        cursor_seek(&outside, name & ~OUTSIDE_BIT);
        return cursor_left(&btf->outside) != 0 ? btf_limited_string(outside) : "(?)";
    }
    while (btf->base != NULL && name < btf->string_base)
        btf = btf->base;
    struct cursor strings = btf->strings;
    cursor_seek(&strings, name - btf->string_base);
    return btf_limited_string(strings);
}

enum ch_status btf_init(struct btf *btf, struct cursor bytes, const struct btf *base)
{
    struct btf_layout layout;
    uint32_t unit = 0;
    *btf = (struct btf){ .base = base, .unit = "" };
    bytes.big_endian = false;
    uint16_t magic = cursor_u16(&bytes);
    bytes.big_endian = magic == MAGIC_SWAPPED;
    uint8_t version = cursor_u8(&bytes);
    uint8_t flags = cursor_u8(&bytes);
    uint32_t header = cursor_u32(&bytes);
    layout.type_offset = cursor_u32(&bytes);
    layout.type_size = cursor_u32(&bytes);
    layout.string_offset = cursor_u32(&bytes);
    layout.string_size = cursor_u32(&bytes);
    if (!cursor_ok(&bytes))
        return CH_ERR_TRUNCATED;
    if (magic != MAGIC && magic != MAGIC_SWAPPED)
        return CH_ERR_NOT_FOUND;
    if (version != VERSION || flags != 0)
        return CH_ERR_UNSUPPORTED;
    if (header < HEADER_MIN || layout.type_offset % 4 != 0)
        return CH_ERR_MALFORMED;
    struct cursor sections = bytes;
    cursor_seek(&sections, header);
    sections = cursor_child(&sections, cursor_left(&sections));
    enum ch_status status = btf_read_ctf(btf, &sections, &layout, &unit);
    if (status != CH_OK)
        return status;
    btf->types = btf->strings = sections;
    cursor_seek(&btf->types, layout.type_offset);
    btf->types = cursor_child(&btf->types, layout.type_size);
    cursor_seek(&btf->strings, layout.string_offset);
    btf->strings = cursor_child(&btf->strings, layout.string_size);
    if (btf->is_ctf && !btf->continues)
        btf->base = base = NULL;
    if (base != NULL)
        btf->string_base =
            base->string_base + (uint32_t)(base->strings.end - base->strings.begin);
    if (!cursor_ok(&btf->types) || !cursor_ok(&btf->strings))
        return CH_ERR_TRUNCATED;
    // The first string of what is complete in itself is the empty one.
    if (btf->strings.begin != btf->strings.end && btf->strings.begin[0] != 0)
        btf->continues = true;
    btf->unit = unit != 0 ? btf_string(btf, unit) : "";
    return btf->unit != NULL ? CH_OK : CH_ERR_MALFORMED;
}

void btf_deinit(struct btf *btf)
{
    free(btf->inflated);
    *btf = (struct btf){ .unit = NULL };
}

// btf_parts_size gives the size of what follows a type.
static uint64_t btf_parts_size(enum btf_kind kind, uint32_t count)
{
    switch (kind) {
    case BTF_INTEGER:
    case BTF_VARIABLE:
    case BTF_DECLARATION_TAG:
    case BTF_CTF_FLOAT:
        return 4;
    case BTF_CTF_SLICE:
        return 8;
    case BTF_ARRAY:
        return 12;
    case BTF_STRUCT:
    case BTF_UNION:
    case BTF_DATA_SECTION:
    case BTF_ENUM_64:
        return 12ull * count;
    case BTF_ENUM:
    case BTF_PROTOTYPE:
        return 8ull * count;
    default:
        return 0;
    }
}

static bool btf_has_size(enum btf_kind kind)
{
    return kind == BTF_INTEGER || kind == BTF_STRUCT || kind == BTF_UNION ||
           kind == BTF_ENUM || kind == BTF_ENUM_64 || kind == BTF_FLOAT ||
           kind == BTF_DATA_SECTION || kind == BTF_CTF_SLICE || kind == BTF_CTF_FLOAT;
}

// btf_knows returns true if a type of that kind may be in btf.
static bool btf_knows(const struct btf *btf, enum btf_kind kind)
{
    return (kind > BTF_VOID && kind < BTF_END) ||
           (btf->is_ctf && (kind == BTF_VOID || kind >= BTF_CTF_CONFLICTING));
}

// btf_read_head reads the three words of a type, after those that say more of it.
static enum ch_status btf_read_head(struct btf *btf, struct btf_type *type,
                                    uint32_t *name)
{
    struct cursor *c = &btf->types;
    for (;;) {
        *name = cursor_u32(c);
        uint32_t info = cursor_u32(c);
        uint32_t size = cursor_u32(c);
        type->kind = info >> 24 & 0x1f;
        type->flag = info >> 31;
        if (!cursor_ok(c))
            return CH_ERR_TRUNCATED;
        if (!btf_knows(btf, type->kind))
            return CH_ERR_UNSUPPORTED;
        if (type->kind == BTF_CTF_BIG) {
            type->is_big = true;
            type->size = (uint64_t)size << 32;
            type->part_count = info << 16;
            continue;
        }
        if (type->kind == BTF_CTF_CONFLICTING) {
            type->unit = btf_string(btf, *name);
            if (type->unit == NULL)
                return CH_ERR_MALFORMED;
            continue;
        }
        type->reference = btf_has_size(type->kind) ? 0 : size;
        type->size = btf_has_size(type->kind) ? type->size | size : 0;
        type->part_count |= info & 0xffff;
        return CH_OK;
    }
}

// btf_read_bits reads the encoding of an integer or a float, or the bits of a slice.
static void btf_read_bits(struct btf_type *type)
{
    if (type->kind == BTF_CTF_SLICE) {
        type->reference = cursor_u32(&type->parts);
        type->offset_bits = cursor_u16(&type->parts);
        type->bits = cursor_u16(&type->parts);
        return;
    }
    uint32_t data = cursor_u32(&type->parts);
    type->encoding = data >> 24 & 0xf;
    type->offset_bits = (uint8_t)(data >> 16);
    type->bits = type->kind == BTF_INTEGER ? (uint8_t)data : (uint16_t)data;
}

enum ch_status btf_next_type(struct btf *btf, struct btf_type *out)
{
    struct cursor *c = &btf->types;
    if (cursor_left(c) == 0)
        return CH_END;
    uint32_t name;
    struct btf_type type = { .unit = NULL };
    enum ch_status status = btf_read_head(btf, &type, &name);
    if (status != CH_OK)
        return status;
    type.parts = cursor_child(c, (size_t)btf_parts_size(type.kind, type.part_count));
    type.name = btf_string(btf, name);
    if (!cursor_ok(c))
        return CH_ERR_TRUNCATED;
    if (type.name == NULL)
        return CH_ERR_MALFORMED;
    if (type.kind == BTF_ARRAY) {
        type.reference = cursor_u32(&type.parts);
        (void)cursor_u32(&type.parts); // the type of an index
        type.count = cursor_u32(&type.parts);
    } else if (type.kind == BTF_INTEGER || type.kind == BTF_CTF_SLICE ||
               type.kind == BTF_CTF_FLOAT) {
        btf_read_bits(&type);
    }
    *out = type;
    return CH_OK;
}

enum ch_status btf_next_part(const struct btf *btf, struct btf_type *type,
                             struct btf_part *out)
{
    struct cursor *c = &type->parts;
    if (cursor_left(c) == 0)
        return CH_END;
    struct btf_part part = { .name = btf_string(btf, cursor_u32(c)) };
    uint32_t word = cursor_u32(c);
    if (part.name == NULL)
        return CH_ERR_MALFORMED;
    switch (type->kind) {
    case BTF_STRUCT:
    case BTF_UNION: {
        uint32_t offset = cursor_u32(c);
        part.type = word;
        part.offset_bits = type->flag ? offset & 0xffffff : offset;
        part.bits = type->flag ? offset >> 24 : 0;
        if (type->is_big)
            part.offset_bits = type->member_bits += part.offset_bits;
        break;
    }
    case BTF_ENUM:
        part.value = type->flag ? (int32_t)word : (int64_t)word;
        break;
    case BTF_ENUM_64:
        part.value = (int64_t)((uint64_t)cursor_u32(c) << 32 | word);
        break;
    default:
        part.type = word;
        break;
    }
    *out = part;
    return cursor_ok(c) ? CH_OK : CH_ERR_TRUNCATED;
}
