// SPDX-License-Identifier: Apache-2.0
#include "base/cursor.h"

// Ten groups of seven bits hold 64 bits; the tenth has room for one bit (unsigned) or
// for copies of the sign (signed).
enum { LEB128_MAX_BYTES = 10 };

uint64_t cursor_long_uleb128(struct cursor *c)
{
    uint64_t value = cursor_u8(c);
    if (value < 0x80) // a poisoned cursor has 0
        return value;
    value &= 0x7f;
    for (unsigned i = 1; i < LEB128_MAX_BYTES; i++) {
        uint8_t byte = cursor_u8(c);
        if (!cursor_ok(c))
            return 0;
        if (i == LEB128_MAX_BYTES - 1 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (!(byte & 0x80))
            return value;
    }
    cursor_poison(c);
    return 0;
}

int64_t cursor_sleb128(struct cursor *c)
{
    uint64_t value = cursor_u8(c);
    if (value < 0x80) // as above
        return (int64_t)value - (value & 0x40 ? 0x80 : 0);
    value &= 0x7f;
    for (unsigned i = 1; i < LEB128_MAX_BYTES; i++) {
        uint8_t byte = cursor_u8(c);
        if (!cursor_ok(c))
            return 0;
        if (i == LEB128_MAX_BYTES - 1 && byte != 0 && byte != 0x7f)
            break;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte & 0x80)
            continue;
        if (byte & 0x40 && 7 * (i + 1) < 64)
            value |= UINT64_MAX << (7 * (i + 1));
        return (int64_t)value;
    }
    cursor_poison(c);
    return 0;
}

const char *cursor_string(struct cursor *c)
{
    const void *nul = cursor_left(c) != 0 ? memchr(c->at, 0, cursor_left(c)) : NULL;
    if (nul == NULL) {
        cursor_poison(c);
        return NULL;
    }
    size_t length = (size_t)((const uint8_t *)nul - c->at);
    return (const char *)cursor_take(c, length + 1);
}
