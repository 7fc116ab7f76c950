// SPDX-License-Identifier: Apache-2.0
#include "cli/render/json_print.h"

#include <stdint.h>
#include <stdio.h>

#include "base/utf8.h"

void json_print_string(const char *bytes, size_t size)
{
    const uint8_t *at = (const uint8_t *)bytes;
    putchar('"');
    while (size > 0) {
        uint32_t character;
        size_t length = utf8_decode(at, size, &character);
        if (length == 0)
            fputs("\\ufffd", stdout);
        else if (*at == '"' || *at == '\\')
            printf("\\%c", *at);
        else if (character < 0x20 || (character >= 0x7f && character <= 0x9f))
            printf("\\u%04x", (unsigned)character); // terminals obey these, too
        else
            fwrite(at, 1, length, stdout);
        length = length != 0 ? length : 1;
        at += length;
        size -= length;
    }
    putchar('"');
}
