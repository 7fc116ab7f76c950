// SPDX-License-Identifier: Apache-2.0
#include "formats/runtime/java_lines.h"

enum { NUMBER_BYTES = 5, NUMBER_BITS = 6, BYTE_VALUES = 256 };

// A pair of differences in one byte has the line's in the lowest three bits; the
// largest byte says that both follow as numbers.
enum { PAIR_LINE_BITS = 3, PAIR_ESCAPE = 0xff };

uint32_t java_lines_number(struct cursor *c, uint32_t excluded)
{
    const uint32_t low = BYTE_VALUES - (1 << NUMBER_BITS) - excluded;
    uint32_t sum = 0;
    for (unsigned i = 0; i < NUMBER_BYTES; i++) {
        uint32_t digit = cursor_u8(c) - excluded;
        sum += digit << (i * NUMBER_BITS);
        if (digit < low || !cursor_ok(c))
            break;
    }
    return sum;
}

// java_lines_signed reads a number whose lowest bit is its sign.
static uint32_t java_lines_signed(struct cursor *c, uint32_t excluded)
{
    uint32_t value = java_lines_number(c, excluded);
    return value >> 1 ^ -(value & 1);
}

enum ch_status java_lines_find(const void *bytes, size_t size, uint32_t excluded,
                               int32_t bci, uint32_t *out)
{
    struct cursor c = cursor_over(bytes, size);
    uint32_t at = 0;
    uint32_t line = 0;
    int32_t best = -1;
    uint32_t found = 0;
    for (uint8_t pair = cursor_u8(&c); cursor_ok(&c) && pair != 0;
         pair = cursor_u8(&c)) {
        bool whole = pair == PAIR_ESCAPE;
        at += whole ? java_lines_signed(&c, excluded) : pair >> PAIR_LINE_BITS;
        line += whole ? java_lines_signed(&c, excluded)
                      : pair & ((1 << PAIR_LINE_BITS) - 1);
        if ((int32_t)at <= bci && (int32_t)at >= best) {
            best = (int32_t)at;
            found = line;
        }
    }
    if (!cursor_ok(&c))
        return CH_ERR_TRUNCATED;
    if (best < 0 || (int32_t)found <= 0)
        return CH_ERR_NOT_FOUND;
    *out = found;
    return CH_OK;
}
