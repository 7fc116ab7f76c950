// SPDX-License-Identifier: Apache-2.0
#include "formats/runtime/jitdump.h"

#include <string.h>

// "JiTD" as a number in the writer's byte order, and the numbers of the records.
enum {
    JITDUMP_MAGIC = 0x4a695444,
    JITDUMP_VERSION = 1,
    JITDUMP_HEADER_BYTES = 40,
    JITDUMP_RECORD_BYTES = 16,
    RECORD_LOAD = 0,
    RECORD_MOVE = 1,
};

enum ch_status jitdump_open(struct cursor *c)
{
    struct cursor start = *c;
    c->big_endian = false;
    uint32_t magic = cursor_u32(c);
    if (magic == __builtin_bswap32(JITDUMP_MAGIC)) {
        *c = start;
        c->big_endian = true;
        magic = cursor_u32(c);
    }
    uint32_t version = cursor_u32(c);
    uint32_t size = cursor_u32(c);
    if (!cursor_ok(c) || magic != JITDUMP_MAGIC || version != JITDUMP_VERSION)
        return CH_ERR_UNSUPPORTED;
    if (size < JITDUMP_HEADER_BYTES)
        return CH_ERR_MALFORMED;
    cursor_skip(c, size - 12);
    return cursor_ok(c) ? CH_OK : CH_ERR_TRUNCATED;
}

// read_jitdump_code reads what records of code begin with: after the process and
// thread, the address where it was written, then, of code that moved, its old address.
static enum ch_status read_jitdump_code(struct cursor *body,
                                        struct jitdump_record *record)
{
    cursor_skip(body, 8 + 8);
    if (record->kind == JITDUMP_MOVE)
        cursor_skip(body, 8);
    record->start = cursor_u64(body);
    record->size = cursor_u64(body);
    record->index = cursor_u64(body);
    if (record->kind == JITDUMP_LOAD) {
        size_t left = cursor_left(body);
        record->name = (const char *)cursor_take(body, left);
        const char *end = record->name != NULL ? memchr(record->name, 0, left) : NULL;
        if (end == NULL)
            return CH_ERR_MALFORMED;
        record->name_size = (size_t)(end - record->name);
    }
    return cursor_ok(body) ? CH_OK : CH_ERR_MALFORMED;
}

enum ch_status jitdump_next(struct cursor *c, struct jitdump_record *out)
{
    while (cursor_left(c) >= JITDUMP_RECORD_BYTES) {
        uint32_t id = cursor_u32(c);
        uint32_t size = cursor_u32(c);
        cursor_skip(c, 8); // its time
        if (size < JITDUMP_RECORD_BYTES)
            return CH_ERR_MALFORMED;
        if (size - JITDUMP_RECORD_BYTES > cursor_left(c))
            return CH_END;
        struct cursor body = cursor_child(c, size - JITDUMP_RECORD_BYTES);
        if (id != RECORD_LOAD && id != RECORD_MOVE)
            continue;
        struct jitdump_record record = { .kind = id == RECORD_LOAD ? JITDUMP_LOAD
                                                                   : JITDUMP_MOVE };
        enum ch_status status = read_jitdump_code(&body, &record);
        if (status == CH_OK)
            *out = record;
        return status;
    }
    return CH_END;
}
