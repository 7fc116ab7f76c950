// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/ctf_old.h"

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

enum ch_status ctf_old_upgrade(const struct ctf_old *old, struct text *out,
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
