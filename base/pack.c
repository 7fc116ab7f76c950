// SPDX-License-Identifier: Apache-2.0
#include "base/pack.h"

#include <endian.h>
#include <stdbool.h>

static void append_zeros(struct text *out, uint64_t size)
{
    static const uint8_t zeros[256];
    for (; size > sizeof(zeros); size -= sizeof(zeros))
        text_append(out, zeros, sizeof(zeros));
    text_append(out, zeros, (size_t)size);
}

static void append_leb128(struct text *out, uint64_t number, bool is_signed)
{
    for (bool more = true; more;) {
        const uint8_t low = number & 0x7f;
        number = is_signed ? (uint64_t)((int64_t)number >> 7) : number >> 7;
        more = number != (is_signed && low & 0x40 ? UINT64_MAX : 0);
        const uint8_t byte = more ? low | 0x80 : low;
        text_append(out, &byte, 1);
    }
}

void pack_numbers(struct text *out, const char *form, const uint64_t *numbers)
{
    for (; *form != 0; form++, numbers++) {
        const uint64_t number = htole64(*numbers);
        if (*form == 'z')
            append_zeros(out, *numbers);
        else if (*form == 'u' || *form == 's')
            append_leb128(out, *numbers, *form == 's');
        else
            text_append(out, &number, (size_t)(*form - '0'));
    }
}

uint32_t pack_align(struct text *out, size_t size)
{
    append_zeros(out, (size - out->size % size) % size);
    return (uint32_t)out->size;
}
