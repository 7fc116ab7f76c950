// SPDX-License-Identifier: Apache-2.0
#include "formats/runtime/python_lines.h"

#include <stdbool.h>

#include "base/cursor.h"

// PYTHON_LINE_MAX is the largest line that is believed.
#define PYTHON_LINE_MAX INT64_C(0x7fffffff)

// A python_line is where reading a table stands: the end of the instructions covered so
// far, and their line.
struct python_line {
    int64_t end;
    int64_t line;
    bool none; // the last instructions have no line
};

static enum ch_status python_line_result(const struct python_line *at, uint32_t *out)
{
    if (at->none)
        return CH_ERR_NOT_FOUND;
    if (at->line < 0 || at->line > PYTHON_LINE_MAX)
        return CH_ERR_MALFORMED;
    *out = (uint32_t)at->line;
    return CH_OK;
}

// find_in_lnotab: pairs of unsigned distances and signed line differences; a line
// begins after the distance.
static enum ch_status find_in_lnotab(struct cursor *c, struct python_line *at,
                                     int64_t offset, uint32_t *out)
{
    while (cursor_left(c) >= 2) {
        at->end += cursor_u8(c);
        if (at->end > offset)
            break;
        at->line += (int8_t)cursor_u8(c);
    }
    return python_line_result(at, out);
}

// find_in_310: pairs of unsigned sizes and signed line differences, -128 for no line.
static enum ch_status find_in_310(struct cursor *c, struct python_line *at,
                                  int64_t offset, uint32_t *out)
{
    while (cursor_left(c) >= 2) {
        at->end += cursor_u8(c);
        int8_t difference = (int8_t)cursor_u8(c);
        at->none = difference == INT8_MIN;
        at->line += at->none ? 0 : difference;
        if (at->end > offset)
            return python_line_result(at, out);
    }
    return CH_ERR_NOT_FOUND;
}

// python_varint reads six bits a byte, lowest first; bit 6 says that more follow.
static uint64_t python_varint(struct cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 36; shift += 6) {
        uint8_t byte = cursor_u8(c);
        value |= (uint64_t)(byte & 63) << shift;
        if ((byte & 64) == 0)
            return value;
    }
    cursor_poison(c);
    return 0;
}

// python_line_step is the line difference of an entry of 3.11, whose first byte was
// read.
static int64_t python_line_step(struct cursor *c, unsigned code)
{
    if (code == 13 || code == 14) {
        uint64_t value = python_varint(c);
        return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
    }
    return code >= 10 && code <= 12 ? code - 10 : 0;
}

// find_in_311: entries whose first byte alone has its top bit set: four bits of a code,
// three of the number of code units less one.
static enum ch_status find_in_311(struct cursor *c, struct python_line *at,
                                  int64_t offset, uint32_t *out)
{
    while (cursor_left(c) > 0) {
        uint8_t first = cursor_u8(c);
        if ((first & 0x80) == 0)
            continue; // the rest of the entry before: columns
        unsigned code = first >> 3 & 15;
        at->end += 2 * ((first & 7) + 1);
        at->line += python_line_step(c, code);
        at->none = code == 15;
        if (!cursor_ok(c))
            return CH_ERR_MALFORMED;
        if (at->end > offset)
            return python_line_result(at, out);
    }
    return CH_ERR_NOT_FOUND;
}

enum ch_status python_lines_find(enum python_lines form, const void *bytes, size_t size,
                                 uint32_t first_line, int64_t offset, uint32_t *out)
{
    struct cursor c = cursor_over(bytes, size);
    struct python_line at = { .line = first_line };
    if (offset < 0)
        return python_line_result(&at, out);
    switch (form) {
    case PYTHON_LINES_LNOTAB:
        return find_in_lnotab(&c, &at, offset, out);
    case PYTHON_LINES_310:
        return find_in_310(&c, &at, offset, out);
    case PYTHON_LINES_311:
        return find_in_311(&c, &at, offset, out);
    }
    return CH_ERR_UNSUPPORTED;
}
