// SPDX-License-Identifier: Apache-2.0
//
// How it works: opening reads the header, inflates the body, upgrades versions 1 and 2
// to version 3 (ctf_old_upgrade), divides the body into sections (take_sections), and
// notes where each type begins (find_types). Reading then goes by type number.
// Invariants: the body does not move once it is open, since results point into it; each
// read is by a cursor over one section; numbers of types are checked when looked up.
#include "formats/debug/ctf.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/cursor.h"
#include "base/status.h"
#include "base/text.h"
#include "formats/debug/ctf_layout.h"

// CTF versions 1 and 2, of Solaris, illumos and FreeBSD: their sections in the form of
// version 3, as libctf upgrades them (docs/formats/ctf.md).

// A ctf_old is the sections of an old dictionary, in its byte order.
struct ctf_old {
    struct cursor labels;
    struct cursor objects;
    struct cursor functions;
    struct cursor types;
    struct cursor strings;
    bool first;    // version 1 of Solaris, whose kinds have 4 bits
    bool is_child; // its own types have the top bit of 16 in their numbers
};

enum {
    SIZE_ELSEWHERE_OLD = 0xffff,
    LARGE_OLD = 8192, // structures of this size and more have wide members
    LARGE_NEW = 0x20000000,
    CHILD_OLD = 0x8000,
};

struct upgrade {
    const struct ctf_old *old;
    struct text *out;
    struct text *functions; // their types, which follow all others
    uint32_t type_count;
};

static void upgrade_put(const struct upgrade *up, struct text *to, uint32_t value)
{
    uint32_t ordered = up->old->types.big_endian ? htobe32(value) : htole32(value);
    text_append(to, &ordered, sizeof(ordered));
}

static uint32_t upgrade_number(uint32_t old)
{
    return old & CHILD_OLD ? (old & (CHILD_OLD - 1)) | CTF_CHILD_BIT : old;
}

static void upgrade_info(const struct upgrade *up, uint16_t info, enum ctf_kind *kind,
                         bool *root, uint32_t *count)
{
    bool first = up->old->first;
    *kind = first ? info >> 12 : info >> 11;
    *root = info >> (first ? 11 : 10) & 1;
    *count = info & (first ? 0x7ff : 0x3ff);
}

static void upgrade_head(const struct upgrade *up, struct text *to, uint32_t name,
                         uint32_t info)
{
    upgrade_put(up, to, name);
    upgrade_put(up, to, info);
}

static uint32_t upgrade_new_info(enum ctf_kind kind, bool root, uint32_t count)
{
    return (uint32_t)kind << 26 | (uint32_t)root << 25 | count;
}

// upgrade_arguments writes the numbers of argument types, padded to an even count.
static void upgrade_arguments(const struct upgrade *up, struct cursor *c,
                              struct text *to, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        upgrade_put(up, to, upgrade_number(cursor_u16(c)));
    if (count % 2 != 0)
        upgrade_put(up, to, 0);
}

static void upgrade_members(const struct upgrade *up, struct cursor *c, uint64_t size,
                            uint32_t count)
{
    for (uint32_t i = 0; i < count && cursor_ok(c); i++) {
        uint32_t name = cursor_u32(c);
        uint32_t type = upgrade_number(cursor_u16(c));
        uint64_t offset = cursor_u16(c); // of a wide member unused
        if (size >= LARGE_OLD) {
            offset = (uint64_t)cursor_u32(c) << 32;
            offset |= cursor_u32(c);
        }
        upgrade_put(up, up->out, name);
        if (size >= LARGE_NEW)
            upgrade_put(up, up->out, (uint32_t)(offset >> 32));
        else
            upgrade_put(up, up->out, (uint32_t)offset);
        upgrade_put(up, up->out, type);
        if (size >= LARGE_NEW)
            upgrade_put(up, up->out, (uint32_t)offset);
    }
}

static void upgrade_parts(const struct upgrade *up, struct cursor *c,
                          enum ctf_kind kind, uint64_t size, uint32_t count)
{
    switch (kind) {
    case CTF_INTEGER:
    case CTF_FLOAT:
        upgrade_put(up, up->out, cursor_u32(c));
        return;
    case CTF_ARRAY:
        upgrade_put(up, up->out, upgrade_number(cursor_u16(c)));
        upgrade_put(up, up->out, upgrade_number(cursor_u16(c)));
        upgrade_put(up, up->out, cursor_u32(c));
        return;
    case CTF_FUNCTION:
        upgrade_arguments(up, c, up->out, count);
        cursor_skip(c, count % 2 * 2);
        return;
    case CTF_STRUCT:
    case CTF_UNION:
        upgrade_members(up, c, size, count);
        return;
    case CTF_ENUM:
        for (uint32_t i = 0; i < 2 * count && cursor_ok(c); i++)
            upgrade_put(up, up->out, cursor_u32(c));
        return;
    default:
        return;
    }
}

// upgrade_type writes one type of the types' section.
static enum ch_status upgrade_type(struct upgrade *up, struct cursor *c)
{
    enum ctf_kind kind;
    bool root;
    uint32_t count;
    uint32_t name = cursor_u32(c);
    upgrade_info(up, cursor_u16(c), &kind, &root, &count);
    uint64_t size = cursor_u16(c);
    bool elsewhere = size == SIZE_ELSEWHERE_OLD;
    if (elsewhere) {
        size = (uint64_t)cursor_u32(c) << 32;
        size |= cursor_u32(c);
    }
    if (!cursor_ok(c))
        return CH_ERR_TRUNCATED;
    if (kind > CTF_RESTRICT)
        return CH_ERR_UNSUPPORTED;
    bool has_parts = kind == CTF_FUNCTION || kind == CTF_STRUCT || kind == CTF_UNION ||
                     kind == CTF_ENUM;
    bool refers = kind == CTF_POINTER || kind == CTF_FUNCTION || kind >= CTF_TYPEDEF;
    upgrade_head(up, up->out, name,
                 upgrade_new_info(kind, root, has_parts ? count : 0));
    if (elsewhere) {
        upgrade_put(up, up->out, UINT32_MAX);
        upgrade_put(up, up->out, (uint32_t)(size >> 32));
    }
    upgrade_put(up, up->out, refers ? upgrade_number((uint32_t)size) : (uint32_t)size);
    upgrade_parts(up, c, kind, size, count);
    up->type_count++;
    if (!cursor_ok(c))
        return CH_ERR_TRUNCATED;
    return text_ok(up->out) ? CH_OK : CH_ERR_LIMIT;
}

// upgrade_functions writes the types that functions have, which version 3 has numbers
// for: those after the types of the dictionary.
static enum ch_status upgrade_functions(struct upgrade *up, uint32_t first)
{
    struct cursor c = up->old->functions;
    while (cursor_left(&c) >= sizeof(uint16_t)) {
        enum ctf_kind kind;
        bool root;
        uint32_t count;
        upgrade_info(up, cursor_u16(&c), &kind, &root, &count);
        if (kind == CTF_UNKNOWN && count == 0) { // nothing is known of this symbol
            upgrade_put(up, up->out, 0);
            continue;
        }
        if (kind != CTF_FUNCTION)
            return CH_ERR_MALFORMED;
        upgrade_head(up, up->functions, 0, upgrade_new_info(kind, false, count));
        upgrade_put(up, up->functions, upgrade_number(cursor_u16(&c)));
        upgrade_arguments(up, &c, up->functions, count);
        upgrade_put(up, up->out, first++ | (up->old->is_child ? CTF_CHILD_BIT : 0));
        if (!cursor_ok(&c))
            return CH_ERR_TRUNCATED;
        if (!text_ok(up->functions) || !text_ok(up->out))
            return CH_ERR_LIMIT;
    }
    return CH_OK;
}

static enum ch_status upgrade_all(struct upgrade *up, struct text *types,
                                  uint32_t out_offsets[CTF_SECTION_COUNT + 1])
{
    struct text *body = up->out;
    struct cursor c = up->old->types;
    enum ch_status status = CH_OK;
    up->out = types;
    while (status == CH_OK && cursor_left(&c) != 0)
        status = upgrade_type(up, &c);
    if (status != CH_OK)
        return status;
    up->out = body;
    text_append(body, up->old->labels.begin, cursor_left(&up->old->labels));
    out_offsets[CTF_OBJECTS] = (uint32_t)body->size;
    for (c = up->old->objects; cursor_left(&c) >= sizeof(uint16_t);)
        upgrade_put(up, body, upgrade_number(cursor_u16(&c)));
    out_offsets[CTF_FUNCTIONS] = (uint32_t)body->size;
    status = upgrade_functions(up, up->type_count + 1);
    if (status != CH_OK)
        return status;
    for (int i = CTF_OBJECT_NAMES; i <= CTF_TYPES; i++)
        out_offsets[i] = (uint32_t)body->size;
    text_append(body, types->bytes, types->size);
    text_append(body, up->functions->bytes, up->functions->size);
    out_offsets[CTF_STRINGS] = (uint32_t)body->size;
    text_append(body, up->old->strings.begin, cursor_left(&up->old->strings));
    out_offsets[CTF_SECTION_COUNT] = (uint32_t)body->size;
    return text_ok(body) ? CH_OK : CH_ERR_LIMIT;
}

// ctf_old_upgrade appends a body of version 3 to out, with where its sections begin and
// the last one ends. It begins with the labels.
static enum ch_status ctf_old_upgrade(const struct ctf_old *old, struct text *out,
                                      uint32_t out_offsets[CTF_SECTION_COUNT + 1])
{
    struct text types = { .limit_bytes = CTF_BODY_MAX };
    struct text functions = { .limit_bytes = CTF_BODY_MAX };
    struct upgrade up = { .old = old, .out = out, .functions = &functions };
    out->limit_bytes = CTF_BODY_MAX;
    enum ch_status status = upgrade_all(&up, &types, out_offsets);
    text_deinit(&types);
    text_deinit(&functions);
    return status;
}

enum {
    MAGIC = 0xdff2,
    MAGIC_SWAPPED = 0xf2df,
    VERSION_2 = 3, // what versions 2 and 3 have in their version fields
    VERSION_3 = 4,
    MAGIC_OLD = 0xcff1, // of Solaris
    MAGIC_OLD_SWAPPED = 0xf1cf,
    VERSION_OLD = 2, // the highest with that magic; libctf's own 1 is the same
    COMPRESSED = 1,
    DYNAMIC = 8,       // it refers to the dynamic symbols
    NEW_FUNCTIONS = 2, // without it, functions are in an obsolete form
    C_ORDER = 16,      // dimensions of arrays are in the order of C
    FLAGS = 0x1f,
    INFLATE_RATIO_MAX = 1032, // of zlib's format
    TYPE_SIZE = 12,           // of the smallest type
    LARGE = 0x20000000,       // structures of this size and more have wide members
    RESERVED_BIT = 1 << 24,   // of a type's info word
};

// OUTSIDE_BIT in a name says that it is in the ELF file's string table.
#define OUTSIDE_BIT 0x80000000u

// SIZE_ELSEWHERE as a type's size says that a 64-bit size follows.
#define SIZE_ELSEWHERE 0xffffffffu

// take_sections divides body by the header's offsets: one cursor for each section, and
// one for the labels before them.
static enum ch_status take_sections(struct ctf_dict *dict, struct cursor body,
                                    uint32_t labels,
                                    const uint32_t offsets[CTF_SECTION_COUNT + 1])
{
    if (labels > offsets[0] || labels % 4 != 0)
        return CH_ERR_MALFORMED;
    cursor_seek(&body, labels);
    dict->labels = cursor_child(&body, offsets[0] - labels);
    for (int i = 0; i < CTF_SECTION_COUNT; i++) {
        if (offsets[i] > offsets[i + 1] || (i < CTF_STRINGS && offsets[i] % 4 != 0))
            return CH_ERR_MALFORMED;
        cursor_seek(&body, offsets[i]);
        dict->sections[i] = cursor_child(&body, offsets[i + 1] - offsets[i]);
    }
    if (!cursor_ok(&body))
        return CH_ERR_TRUNCATED;
    const struct cursor *strings = &dict->sections[CTF_STRINGS];
    size_t size = cursor_left(strings);
    // The first string is the empty one; a NUL at the end terminates all of them.
    if (size == 0 || strings->begin[0] != 0 || strings->begin[size - 1] != 0)
        return CH_ERR_MALFORMED;
    return CH_OK;
}

// inflate_body replaces body by its inflated bytes, exactly size of them.
static enum ch_status inflate_body(struct ctf_dict *dict, struct cursor *body,
                                   size_t size)
{
    size_t left = cursor_left(body);
    // A size that zlib cannot reach is refused before memory is allocated for it.
    if (size / INFLATE_RATIO_MAX > left)
        return CH_ERR_MALFORMED;
    dict->inflated = malloc(size != 0 ? size : 1);
    if (dict->inflated == NULL)
        return CH_ERR_NO_MEMORY;
    uLongf got = size;
    int result = uncompress(dict->inflated, &got, cursor_take(body, left), left);
    if (result == Z_MEM_ERROR)
        return CH_ERR_NO_MEMORY;
    if (result != Z_OK || got != size)
        return CH_ERR_MALFORMED;
    bool big_endian = body->big_endian;
    dict->inflated_size = size;
    *body = cursor_over(dict->inflated, size);
    body->big_endian = big_endian;
    return CH_OK;
}

// limited_string gives the string at the start of strings, NULL if it is too long.
static const char *limited_string(struct cursor strings)
{
    size_t left = cursor_left(&strings);
    strings = cursor_child(&strings, left < CTF_NAME_MAX ? left : CTF_NAME_MAX);
    return cursor_string(&strings);
}

// ctf_string_at gives the string that a name refers to, NULL if there is none.
static const char *ctf_string_at(const struct ctf_dict *dict, uint32_t name)
{
    bool outside = name & OUTSIDE_BIT;
    struct cursor strings =
        outside ? dict->outside.strings : dict->sections[CTF_STRINGS];
    if (outside && cursor_left(&strings) == 0)
        return "(?)";
    cursor_seek(&strings, name & ~OUTSIDE_BIT);
    return limited_string(strings);
}

// parts_size is the number of bytes that follow a type of kind.
static uint64_t parts_size(enum ctf_kind kind, uint64_t size, uint32_t count)
{
    switch (kind) {
    case CTF_INTEGER:
    case CTF_FLOAT:
        return 4;
    case CTF_SLICE:
    case CTF_ENUM:
        return kind == CTF_SLICE ? 8 : 8ull * count;
    case CTF_ARRAY:
        return 12;
    case CTF_FUNCTION:
        return 4ull * (count + count % 2); // padded to 8 bytes
    case CTF_STRUCT:
    case CTF_UNION:
        return (size < LARGE ? 12ull : 16ull) * count;
    default:
        return 0;
    }
}

static bool has_parts(enum ctf_kind kind)
{
    return kind == CTF_FUNCTION || kind == CTF_STRUCT || kind == CTF_UNION ||
           kind == CTF_ENUM;
}

// read_head reads a type without its parts, and moves c past all of it.
static enum ch_status read_head(struct cursor *c, struct ctf_type *type,
                                uint32_t *out_name)
{
    *out_name = cursor_u32(c);
    uint32_t info = cursor_u32(c);
    uint32_t size = cursor_u32(c);
    *type = (struct ctf_type){ .kind = (enum ctf_kind)(info >> 26),
                               .is_root = info >> 25 & 1,
                               .size = size,
                               .reference = size,
                               .part_count = info & 0xffffff };
    if (size == SIZE_ELSEWHERE) {
        type->size = (uint64_t)cursor_u32(c) << 32;
        type->size |= cursor_u32(c);
    }
    if (!cursor_ok(c))
        return CH_ERR_TRUNCATED;
    if (type->kind > CTF_SLICE)
        return CH_ERR_UNSUPPORTED;
    if (info & RESERVED_BIT || (!has_parts(type->kind) && type->part_count != 0))
        return CH_ERR_MALFORMED;
    uint64_t parts = parts_size(type->kind, type->size, type->part_count);
    if (parts > cursor_left(c))
        return CH_ERR_TRUNCATED;
    type->parts = cursor_child(c, (size_t)parts);
    return CH_OK;
}

// find_types stores where each type begins.
static enum ch_status find_types(struct ctf_dict *dict)
{
    struct cursor types = dict->sections[CTF_TYPES];
    size_t most = cursor_left(&types) / TYPE_SIZE;
    dict->type_offsets = calloc(most + 1, sizeof(dict->type_offsets[0]));
    if (dict->type_offsets == NULL)
        return CH_ERR_NO_MEMORY;
    while (cursor_left(&types) > 0) {
        struct ctf_type type;
        uint32_t name;
        size_t offset = cursor_offset(&types);
        enum ch_status status = read_head(&types, &type, &name);
        if (status != CH_OK)
            return status;
        dict->type_offsets[dict->type_count++] = (uint32_t)offset;
    }
    return CH_OK;
}

// open_old opens a dictionary of version 1 or 2: upgraded, it is one of version 3.
static enum ch_status open_old(struct ctf_dict *dict, struct cursor bytes, bool first,
                               bool compressed)
{
    enum { OLD_LABELS, OLD_OBJECTS, OLD_FUNCTIONS, OLD_TYPES, OLD_STRINGS, OLD_END };
    uint32_t offsets[OLD_END + 1];
    uint32_t new_offsets[CTF_SECTION_COUNT + 1];
    cursor_skip(&bytes, 4); // the label of the parent
    uint32_t parent = cursor_u32(&bytes);
    for (int i = 0; i <= OLD_END; i++)
        offsets[i] = cursor_u32(&bytes);
    if (!cursor_ok(&bytes))
        return CH_ERR_TRUNCATED;
    if (__builtin_add_overflow(offsets[OLD_STRINGS], offsets[OLD_END],
                               &offsets[OLD_END]))
        return CH_ERR_MALFORMED;
    if (offsets[OLD_END] > CTF_BODY_MAX)
        return CH_ERR_LIMIT;
    enum ch_status status = CH_OK;
    if (compressed)
        status = inflate_body(dict, &bytes, offsets[OLD_END]);
    else
        bytes = cursor_child(&bytes, cursor_left(&bytes));
    struct ctf_old old = { .first = first, .is_child = parent != 0 };
    struct cursor *const parts[] = { &old.labels, &old.objects, &old.functions,
                                     &old.types, &old.strings };
    for (int i = 0; status == CH_OK && i < OLD_END; i++) {
        if (offsets[i] > offsets[i + 1])
            return CH_ERR_MALFORMED;
        cursor_seek(&bytes, offsets[i]);
        *parts[i] = cursor_child(&bytes, offsets[i + 1] - offsets[i]);
    }
    if (status == CH_OK && !cursor_ok(&bytes))
        status = CH_ERR_TRUNCATED;
    struct text body = { 0 };
    if (status == CH_OK)
        status = ctf_old_upgrade(&old, &body, new_offsets);
    free(dict->inflated);
    dict->inflated = (uint8_t *)body.bytes;
    dict->inflated_size = body.size;
    struct cursor upgraded = cursor_over(body.bytes, body.size);
    upgraded.big_endian = bytes.big_endian;
    if (status == CH_OK)
        status = take_sections(dict, upgraded, 0, new_offsets);
    if (status != CH_OK)
        return status;
    dict->is_child = parent != 0;
    dict->parent = ctf_string_at(dict, parent);
    dict->unit = "";
    return dict->parent != NULL ? find_types(dict) : CH_ERR_MALFORMED;
}

// open_new opens a dictionary of libctf's version 2 or 3, whose magic, version and
// flags were read. Version 2 has no name of a unit and no names of symbols.
static enum ch_status open_new(struct ctf_dict *dict, struct cursor bytes,
                               uint8_t flags)
{
    bool names_symbols = dict->version != 2;
    cursor_skip(&bytes, 4); // the label of the parent that it was linked against
    uint32_t parent = cursor_u32(&bytes);
    uint32_t unit = names_symbols ? cursor_u32(&bytes) : 0;
    uint32_t labels = cursor_u32(&bytes);
    uint32_t offsets[CTF_SECTION_COUNT + 1];
    for (int i = 0; i <= CTF_SECTION_COUNT; i++) {
        bool names = i == CTF_OBJECT_NAMES || i == CTF_FUNCTION_NAMES;
        offsets[i] = names && !names_symbols ? 0 : cursor_u32(&bytes);
    }
    for (int i = CTF_FUNCTION_NAMES; !names_symbols && i >= CTF_OBJECT_NAMES; i--)
        offsets[i] = offsets[i + 1];
    if (!cursor_ok(&bytes))
        return CH_ERR_TRUNCATED;
    uint32_t size; // the header's last number is the strings' size, not their end
    if (__builtin_add_overflow(offsets[CTF_STRINGS], offsets[CTF_SECTION_COUNT], &size))
        return CH_ERR_MALFORMED;
    if (size > CTF_BODY_MAX)
        return CH_ERR_LIMIT;
    offsets[CTF_SECTION_COUNT] = size;

    enum ch_status status = CH_OK;
    if (flags & COMPRESSED)
        status = inflate_body(dict, &bytes, size);
    else
        bytes = cursor_child(&bytes, cursor_left(&bytes));
    if (status == CH_OK)
        status = take_sections(dict, bytes, labels, offsets);
    if (status != CH_OK)
        return status;
    if (!(flags & NEW_FUNCTIONS))
        dict->sections[CTF_FUNCTIONS] = dict->sections[CTF_FUNCTION_NAMES] =
            cursor_over(NULL, 0);
    dict->is_child = parent != 0;
    dict->parent = ctf_string_at(dict, parent);
    dict->unit = ctf_string_at(dict, unit);
    if (dict->parent == NULL || dict->unit == NULL)
        return CH_ERR_MALFORMED;
    return find_types(dict);
}

enum ch_status ctf_dict_open(struct ctf_dict *dict, struct cursor bytes,
                             const struct ctf_outside *all,
                             const struct ctf_outside *dynamic)
{
    *dict = (struct ctf_dict){ .version = 0 };
    bytes.big_endian = false;
    uint16_t magic = cursor_u16(&bytes);
    uint8_t version = cursor_u8(&bytes);
    uint8_t flags = cursor_u8(&bytes);
    if (!cursor_ok(&bytes))
        return CH_ERR_TRUNCATED;
    dict->is_compressed = flags & COMPRESSED;
    bool is_old = magic == MAGIC_OLD || magic == MAGIC_OLD_SWAPPED;
    if (!is_old && magic != MAGIC && magic != MAGIC_SWAPPED)
        return CH_ERR_MALFORMED;
    if (is_old || version == 1) {
        bytes.big_endian = magic == MAGIC_OLD_SWAPPED || magic == MAGIC_SWAPPED;
        dict->big_endian = bytes.big_endian;
        dict->version = is_old ? version : 2;
        dict->outside = *all;
        return version == 0 || version > VERSION_OLD || flags & ~COMPRESSED
                   ? CH_ERR_UNSUPPORTED
                   : open_old(dict, bytes, is_old && version == 1, flags & COMPRESSED);
    }
    if ((version != VERSION_3 && version != VERSION_2) || flags & ~FLAGS ||
        (version == VERSION_2 && flags & ~COMPRESSED))
        return CH_ERR_UNSUPPORTED;

    dict->outside = flags & DYNAMIC ? *dynamic : *all;
    dict->version = version - 1;
    dict->is_c_order = flags & C_ORDER;
    bytes.big_endian = dict->big_endian = magic == MAGIC_SWAPPED;
    return open_new(dict, bytes, flags);
}

void ctf_dict_close(struct ctf_dict *dict)
{
    free(dict->inflated);
    free(dict->type_offsets);
    *dict = (struct ctf_dict){ 0 };
}

// ctf_read_encoding reads the encoding of an integer, a float or a slice.
static void ctf_read_encoding(struct ctf_type *type)
{
    if (type->kind == CTF_SLICE) {
        type->reference = cursor_u32(&type->parts);
        type->offset_bits = cursor_u16(&type->parts);
        type->bits = cursor_u16(&type->parts);
        return;
    }
    uint32_t data = cursor_u32(&type->parts);
    type->encoding = (uint8_t)(data >> 24);
    type->offset_bits = (uint8_t)(data >> 16);
    type->bits = (uint16_t)data;
}

enum ch_status ctf_dict_type(const struct ctf_dict *dict, uint32_t index,
                             struct ctf_type *out)
{
    if (index == 0 || index > dict->type_count)
        return CH_ERR_NOT_FOUND;
    struct cursor c = dict->sections[CTF_TYPES];
    struct ctf_type type;
    uint32_t name;
    cursor_seek(&c, dict->type_offsets[index - 1]);
    enum ch_status status = read_head(&c, &type, &name);
    if (status != CH_OK)
        return status;
    type.name = ctf_string_at(dict, name);
    if (type.name == NULL)
        return CH_ERR_MALFORMED;
    if (type.kind == CTF_ARRAY) {
        type.reference = cursor_u32(&type.parts);
        type.index_type = cursor_u32(&type.parts);
        type.count = cursor_u32(&type.parts);
    } else if (type.kind == CTF_INTEGER || type.kind == CTF_FLOAT ||
               type.kind == CTF_SLICE) {
        ctf_read_encoding(&type);
    }
    *out = type;
    return cursor_ok(&type.parts) ? CH_OK : CH_ERR_TRUNCATED;
}

// read_member reads a member. In large structures its offset is in two halves.
static uint32_t read_member(struct ctf_type *type, struct ctf_part *part)
{
    uint32_t name = cursor_u32(&type->parts);
    part->offset_bits = cursor_u32(&type->parts);
    part->type = cursor_u32(&type->parts);
    if (type->size >= LARGE)
        part->offset_bits = part->offset_bits << 32 | cursor_u32(&type->parts);
    return name;
}

enum ch_status ctf_next_part(const struct ctf_dict *dict, struct ctf_type *type,
                             struct ctf_part *out)
{
    if (type->part_count == 0)
        return CH_END;
    struct ctf_part part = { .name = "" };
    uint32_t name = 0;
    type->part_count--;
    if (type->kind == CTF_FUNCTION) {
        part.type = cursor_u32(&type->parts);
    } else if (type->kind == CTF_ENUM) {
        name = cursor_u32(&type->parts);
        part.value = (int32_t)cursor_u32(&type->parts);
    } else {
        name = read_member(type, &part);
    }
    if (!cursor_ok(&type->parts))
        return CH_ERR_TRUNCATED;
    part.name = ctf_string_at(dict, name);
    if (part.name == NULL)
        return CH_ERR_MALFORMED;
    *out = part;
    return CH_OK;
}

enum ch_status ctf_next_label(const struct ctf_dict *dict, struct cursor *labels,
                              struct ctf_label *out)
{
    if (cursor_left(labels) == 0)
        return CH_END;
    out->name = ctf_string_at(dict, cursor_u32(labels));
    out->last_type = cursor_u32(labels);
    if (!cursor_ok(labels))
        return CH_ERR_TRUNCATED;
    return out->name != NULL ? CH_OK : CH_ERR_MALFORMED;
}

// begin_table prepares symbols for its current table.
static void begin_table(struct ctf_symbols *symbols)
{
    const struct ctf_dict *dict = symbols->dict;
    symbols->types = dict->sections[symbols->table];
    symbols->names = cursor_over(NULL, 0);
    symbols->symbols = dict->outside.symbols;
    if (symbols->table == CTF_OBJECTS)
        symbols->names = dict->sections[CTF_OBJECT_NAMES];
    if (symbols->table == CTF_FUNCTIONS)
        symbols->names = dict->sections[CTF_FUNCTION_NAMES];
}

void ctf_symbols_init(struct ctf_symbols *symbols, const struct ctf_dict *dict)
{
    *symbols = (struct ctf_symbols){ .dict = dict, .table = CTF_OBJECTS };
    begin_table(symbols);
}

// skipped returns true if tables in the order of the ELF symbols have no entry for
// symbol.
static bool skipped(const struct elf_symbol *symbol, const char *name)
{
    enum { UNDEFINED = 0, ABSOLUTE = 0xfff1, OBJECT = 1 };
    return name[0] == 0 || symbol->section == UNDEFINED ||
           strcmp(name, "_START_") == 0 || strcmp(name, "_END_") == 0 ||
           ((symbol->info & 0xf) == OBJECT && symbol->section == ABSOLUTE &&
            symbol->value == 0);
}

// next_elf_name gives the name of the next ELF symbol that the table has an entry for.
static const char *next_elf_name(struct ctf_symbols *symbols)
{
    enum { OBJECT = 1, FUNCTION = 2 };
    const struct ctf_outside *outside = &symbols->dict->outside;
    unsigned wanted = symbols->table == CTF_OBJECTS ? OBJECT : FUNCTION;
    while (outside->elf != NULL && cursor_left(&symbols->symbols) > 0) {
        struct elf_symbol symbol;
        if (elf_next_symbol(outside->elf, &symbols->symbols, &symbol) != CH_OK)
            return NULL;
        struct cursor strings = outside->strings;
        cursor_seek(&strings, symbol.name);
        const char *name = limited_string(strings);
        if (name != NULL && (symbol.info & 0xfu) == wanted && !skipped(&symbol, name))
            return name;
    }
    return NULL;
}

// next_ctf_entry reads one entry of the current table: a name, NULL where it is not
// known, and a type, 0 where there is none.
static enum ch_status next_ctf_entry(struct ctf_symbols *symbols, bool indexed,
                                     struct ctf_symbol *out)
{
    const struct ctf_dict *dict = symbols->dict;
    uint32_t name = 0;
    if (symbols->table == CTF_VARIABLES)
        name = cursor_u32(&symbols->types);
    else if (indexed)
        name = cursor_u32(&symbols->names);
    out->type = cursor_u32(&symbols->types);
    if (!cursor_ok(&symbols->types) || !cursor_ok(&symbols->names))
        return CH_ERR_TRUNCATED;
    if (symbols->table != CTF_VARIABLES && !indexed) {
        out->name = next_elf_name(symbols);
        return CH_OK;
    }
    bool lost = name & OUTSIDE_BIT && cursor_left(&dict->outside.strings) == 0;
    out->name = lost ? NULL : ctf_string_at(dict, name);
    return lost || out->name != NULL ? CH_OK : CH_ERR_MALFORMED;
}

enum ch_status ctf_next_symbol(struct ctf_symbols *symbols, struct ctf_symbol *out)
{
    static const enum ctf_symbol_kind kinds[] = {
        [CTF_OBJECTS] = CTF_SYMBOL_OBJECT,
        [CTF_FUNCTIONS] = CTF_SYMBOL_FUNCTION,
        [CTF_VARIABLES] = CTF_SYMBOL_VARIABLE,
    };
    for (;;) {
        if (cursor_left(&symbols->types) == 0 && symbols->table == CTF_VARIABLES)
            return cursor_ok(&symbols->types) ? CH_END : CH_ERR_TRUNCATED;
        if (cursor_left(&symbols->types) == 0) {
            symbols->table =
                symbols->table == CTF_OBJECTS ? CTF_FUNCTIONS : CTF_VARIABLES;
            begin_table(symbols);
            continue;
        }
        bool indexed = symbols->names.begin != symbols->names.end;
        struct ctf_symbol symbol = { .kind = kinds[symbols->table] };
        enum ch_status status = next_ctf_entry(symbols, indexed, &symbol);
        if (status != CH_OK)
            return status;
        if (symbol.type == 0 || symbol.name == NULL || symbol.name[0] == 0)
            continue;
        *out = symbol;
        return CH_OK;
    }
}
