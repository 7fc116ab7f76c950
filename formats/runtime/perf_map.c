// SPDX-License-Identifier: Apache-2.0
#include "formats/runtime/perf_map.h"

#include <stdbool.h>
#include <string.h>

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
