// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/maps.h"

#include <string.h>

// A line is: start-end perms offset major:minor inode   path

// take_map_line gives a cursor over the next line without its newline, and passes over
// it.
static struct cursor take_map_line(struct cursor *text)
{
    size_t left = cursor_left(text);
    const uint8_t *newline = memchr(text->at, '\n', left);
    struct cursor line =
        cursor_child(text, newline != NULL ? (size_t)(newline - text->at) : left);
    if (newline != NULL)
        cursor_skip(text, 1);
    return line;
}

static int digit_value(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

// maps_take_number reads a number and the character after it; the end of the line
// counts as a space. A number over 64 bits, or without a digit, poisons the line.
static uint64_t maps_take_number(struct cursor *line, unsigned base, char after)
{
    uint64_t value = 0;
    unsigned digits = 0;
    while (cursor_left(line) > 0) {
        uint8_t c = cursor_u8(line);
        unsigned digit = (unsigned)digit_value(c);
        if (digit >= base) {
            if (c != (uint8_t)after || digits == 0)
                cursor_poison(line);
            return value;
        }
        if (value > (UINT64_MAX - digit) / base)
            cursor_poison(line);
        value = value * base + digit;
        digits++;
    }
    if (after != ' ' || digits == 0)
        cursor_poison(line);
    return value;
}

static unsigned take_permissions(struct cursor *line)
{
    static const char letters[4] = { 'r', 'w', 'x', 's' };
    unsigned permissions = 0;
    for (unsigned i = 0; i < 4; i++) {
        char c = (char)cursor_u8(line);
        if (c == letters[i])
            permissions |= 1u << i;
        else if (c != '-' && !(i == 3 && c == 'p'))
            cursor_poison(line);
    }
    if (cursor_u8(line) != ' ')
        cursor_poison(line);
    return permissions;
}

static void take_path(struct cursor *line, struct maps_entry *out)
{
    static const char deleted[] = " (deleted)";
    const size_t suffix = sizeof(deleted) - 1;

    while (cursor_left(line) > 0 && *line->at == ' ')
        cursor_skip(line, 1);
    out->path_size = cursor_left(line);
    out->path = (const char *)cursor_take(line, out->path_size);
    if (out->path_size <= suffix ||
        memcmp(out->path + out->path_size - suffix, deleted, suffix) != 0)
        return;
    out->deleted = true;
    out->path_size -= suffix;
}

enum ch_status maps_next(struct cursor *text, struct maps_entry *out)
{
    if (cursor_left(text) == 0)
        return CH_END;

    struct cursor line = take_map_line(text);
    struct maps_entry entry = { 0 };
    entry.start = maps_take_number(&line, 16, '-');
    entry.end = maps_take_number(&line, 16, ' ');
    entry.permissions = take_permissions(&line);
    entry.offset = maps_take_number(&line, 16, ' ');
    entry.device_major = (uint32_t)maps_take_number(&line, 16, ':');
    entry.device_minor = (uint32_t)maps_take_number(&line, 16, ' ');
    entry.inode = maps_take_number(&line, 10, ' ');
    if (!cursor_ok(&line) || entry.start > entry.end)
        return CH_ERR_MALFORMED;
    take_path(&line, &entry);
    *out = entry;
    return CH_OK;
}
