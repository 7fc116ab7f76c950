// SPDX-License-Identifier: Apache-2.0
#include "cli/json_print.h"

#include <stdint.h>
#include <stdio.h>

// utf8_length is the number of bytes of the character at bytes, or 0 if there is none:
// it is cut, overlong, a surrogate, or past U+10FFFF.
static size_t utf8_length(const uint8_t *bytes, size_t size)
{
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    uint8_t first = bytes[0];
    size_t length = first < 0x80   ? 1
                    : first < 0xc0 ? 0
                    : first < 0xe0 ? 2
                    : first < 0xf0 ? 3
                    : first < 0xf8 ? 4
                                   : 0;
    if (length <= 1 || length > size)
        return length <= size ? length : 0;

    uint32_t character = first & (0x7f >> length);
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        character = character << 6 | (bytes[i] & 0x3f);
    }
    if (character < smallest[length] || character > 0x10ffff ||
        (character >= 0xd800 && character < 0xe000))
        return 0;
    return length;
}

void json_print_string(const char *bytes, size_t size)
{
    const uint8_t *at = (const uint8_t *)bytes;
    putchar('"');
    while (size > 0) {
        size_t length = utf8_length(at, size);
        if (length == 0)
            fputs("\\ufffd", stdout);
        else if (*at == '"' || *at == '\\')
            printf("\\%c", *at);
        else if (*at < 0x20)
            printf("\\u%04x", *at);
        else
            fwrite(at, 1, length, stdout);
        length = length != 0 ? length : 1;
        at += length;
        size -= length;
    }
    putchar('"');
}
