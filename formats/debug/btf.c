// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/btf.h"

enum {
    MAGIC = 0xeb9f,
    MAGIC_SWAPPED = 0x9feb,
    VERSION = 1,
    HEADER_MIN = 24,
    BTF_NAME_MAX = 4096,
};

enum ch_status btf_init(struct btf *btf, struct cursor bytes, const struct btf *base)
{
    bytes.big_endian = false;
    uint16_t magic = cursor_u16(&bytes);
    bytes.big_endian = magic == MAGIC_SWAPPED;
    uint8_t version = cursor_u8(&bytes);
    uint8_t flags = cursor_u8(&bytes);
    uint32_t header = cursor_u32(&bytes);
    uint32_t type_offset = cursor_u32(&bytes);
    uint32_t type_size = cursor_u32(&bytes);
    uint32_t string_offset = cursor_u32(&bytes);
    uint32_t string_size = cursor_u32(&bytes);
    if (!cursor_ok(&bytes))
        return CH_ERR_TRUNCATED;
    if (magic != MAGIC && magic != MAGIC_SWAPPED)
        return CH_ERR_NOT_FOUND;
    if (version != VERSION || flags != 0)
        return CH_ERR_UNSUPPORTED;
    if (header < HEADER_MIN || type_offset % 4 != 0)
        return CH_ERR_MALFORMED;
    struct cursor sections = bytes;
    cursor_seek(&sections, header);
    sections = cursor_child(&sections, cursor_left(&sections));
    *btf = (struct btf){ .base = base, .types = sections, .strings = sections };
    cursor_seek(&btf->types, type_offset);
    btf->types = cursor_child(&btf->types, type_size);
    cursor_seek(&btf->strings, string_offset);
    btf->strings = cursor_child(&btf->strings, string_size);
    if (base != NULL)
        btf->string_base =
            base->string_base + (uint32_t)(base->strings.end - base->strings.begin);
    return cursor_ok(&btf->types) && cursor_ok(&btf->strings) ? CH_OK
                                                              : CH_ERR_TRUNCATED;
}

// btf_string gives the string that a name refers to, NULL if there is none.
static const char *btf_string(const struct btf *btf, uint32_t name)
{
    while (btf->base != NULL && name < btf->string_base)
        btf = btf->base;
    struct cursor strings = btf->strings;
    cursor_seek(&strings, name - btf->string_base);
    size_t left = cursor_left(&strings);
    strings = cursor_child(&strings, left < BTF_NAME_MAX ? left : BTF_NAME_MAX);
    return cursor_string(&strings);
}

// btf_parts_size gives the size of what follows a type.
static uint64_t btf_parts_size(enum btf_kind kind, uint32_t count)
{
    switch (kind) {
    case BTF_INTEGER:
    case BTF_VARIABLE:
    case BTF_DECLARATION_TAG:
        return 4;
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
           kind == BTF_DATA_SECTION;
}

enum ch_status btf_next_type(struct btf *btf, struct btf_type *out)
{
    struct cursor *c = &btf->types;
    if (cursor_left(c) == 0)
        return CH_END;
    uint32_t name = cursor_u32(c);
    uint32_t info = cursor_u32(c);
    uint32_t size = cursor_u32(c);
    struct btf_type type = { .kind = info >> 24 & 0x1f,
                             .flag = info >> 31,
                             .part_count = info & 0xffff };
    if (!cursor_ok(c))
        return CH_ERR_TRUNCATED;
    if (type.kind == BTF_VOID || type.kind >= BTF_KIND_COUNT)
        return CH_ERR_UNSUPPORTED;
    type.parts = cursor_child(c, (size_t)btf_parts_size(type.kind, type.part_count));
    type.name = btf_string(btf, name);
    if (!cursor_ok(c))
        return CH_ERR_TRUNCATED;
    if (type.name == NULL)
        return CH_ERR_MALFORMED;
    type.size = btf_has_size(type.kind) ? size : 0;
    type.reference = btf_has_size(type.kind) ? 0 : size;
    if (type.kind == BTF_ARRAY) {
        type.reference = cursor_u32(&type.parts);
        (void)cursor_u32(&type.parts); // the type of an index
        type.count = cursor_u32(&type.parts);
    } else if (type.kind == BTF_INTEGER) {
        uint32_t data = cursor_u32(&type.parts);
        type.encoding = data >> 24 & 0xf;
        type.offset_bits = (uint8_t)(data >> 16);
        type.bits = (uint8_t)data;
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
