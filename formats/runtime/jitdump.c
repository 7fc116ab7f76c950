// SPDX-License-Identifier: Apache-2.0
#include "formats/runtime/jitdump.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cursor.h"
#include "base/status.h"

// take_hexadecimal reads a number up to a space, and passes over that. False: there is
// none, or it does not fit.
static bool take_hexadecimal(const char **at, const char *end, uint64_t *out)
{
    const char *from = *at;
    uint64_t value = 0;
    if (end - from > 2 && from[0] == '0' && (from[1] == 'x' || from[1] == 'X'))
        from += 2;
    const char *digits = from;
    for (; from < end && *from != ' '; from++) {
        unsigned digit = (unsigned char)*from;
        if (digit >= '0' && digit <= '9')
            digit -= '0';
        else if ((digit | 32) >= 'a' && (digit | 32) <= 'f')
            digit = (digit | 32) - 'a' + 10;
        else
            return false;
        if (value >> 60 != 0)
            return false;
        value = value << 4 | digit;
    }
    if (from == digits || from == end)
        return false;
    *at = from + 1;
    *out = value;
    return true;
}

enum ch_status perf_map_next(struct cursor *c, struct perf_map_entry *out)
{
    while (cursor_left(c) > 0) {
        size_t left = cursor_left(c);
        const char *line = (const char *)cursor_take(c, left);
        const char *newline = memchr(line, '\n', left);
        size_t size = newline != NULL ? (size_t)(newline - line) : left;
        cursor_seek(c, cursor_offset(c) - left + size + (newline != NULL));
        struct perf_map_entry entry;
        const char *at = line;
        const char *end = line + size;
        if (!take_hexadecimal(&at, end, &entry.start) ||
            !take_hexadecimal(&at, end, &entry.size) || at == end || entry.size == 0)
            continue;
        entry.name = at;
        entry.name_size = (size_t)(end - at);
        *out = entry;
        return CH_OK;
    }
    return CH_END;
}

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
