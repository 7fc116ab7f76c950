// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <stdbool.h>

static bool utf8_continues(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

size_t utf8_decode(const void *bytes, size_t left, uint32_t *out_character)
{
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const uint8_t *at = bytes;
    size_t length = at[0] < 0x80   ? 1
                    : at[0] < 0xc0 ? 0
                    : at[0] < 0xe0 ? 2
                    : at[0] < 0xf0 ? 3
                    : at[0] < 0xf8 ? 4
                                   : 0;
    if (length == 0 || length > left)
        return 0;
    uint32_t character = length == 1 ? at[0] : at[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if (!utf8_continues(at[i]))
            return 0;
        character = character << 6 | (at[i] & 0x3f);
    }
    if (character < smallest[length] || character > 0x10ffff ||
        (character >= 0xd800 && character < 0xe000))
        return 0;
    *out_character = character;
    return length;
}

size_t utf8_cut(const char *text, size_t size, size_t limit)
{
    if (size <= limit)
        return size;
    while (limit > 0 && utf8_continues((uint8_t)text[limit]))
        limit--;
    return limit;
}

void utf8_repair(char *text, size_t size)
{
    uint32_t character;
    for (size_t i = 0; i < size;) {
        size_t length = utf8_decode(text + i, size - i, &character);
        if (length == 0)
            text[i] = '?';
        i += length != 0 ? length : 1;
    }
}

size_t utf8_encode(uint32_t character, char out[static UTF8_MAX_BYTES])
{
    static const uint8_t leads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    uint32_t c = character;
    if (c < 0x20 || c == 0x7f || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
        c = '?';
    size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 63));
    out[0] = (char)(leads[size] | c);
    return size;
}
