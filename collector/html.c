// SPDX-License-Identifier: Apache-2.0
#include "collector/html.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

// SAYS_SIZE is the limit from which a cut string is followed by its whole size: in
// narrow places that would be longer than what it stands for.
enum { SAYS_SIZE = 1000 };

// decode_utf8 gives the length of the character at bytes and stores it at out, or 0
// when there is none: a stray byte, an overlong form, a surrogate, past U+10FFFF.
static size_t decode_utf8(const unsigned char *bytes, size_t left, uint32_t *out)
{
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t length = bytes[0] < 0x80             ? 1
                    : (bytes[0] & 0xe0) == 0xc0 ? 2
                    : (bytes[0] & 0xf0) == 0xe0 ? 3
                    : (bytes[0] & 0xf8) == 0xf0 ? 4
                                                : 0;
    if (length == 0 || length > left)
        return 0;
    uint32_t value = length == 1 ? bytes[0] : bytes[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (bytes[i] & 0x3f);
    }
    if (value < smallest[length] || value > 0x10ffff || (value & ~0x7ffu) == 0xd800)
        return 0;
    *out = value;
    return length;
}

// is_deceptive is true for what changes how its neighbours look, or cannot be seen.
static bool is_deceptive(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        { 0x00, 0x08 },       { 0x0b, 0x1f },     { 0x7f, 0x9f },
        { 0xad, 0xad },       { 0x61c, 0x61c },   { 0x180e, 0x180e },
        { 0x200b, 0x200f },   { 0x2028, 0x202e }, { 0x2060, 0x206f },
        { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },
        { 0xe0000, 0xe0fff },
    };
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    }
    return false;
}

static void escape_character(struct text *out, uint32_t c, const char *bytes,
                             size_t length)
{
    switch (c) {
    case '&':
        text_append_string(out, "&amp;");
        return;
    case '<':
        text_append_string(out, "&lt;");
        return;
    case '>':
        text_append_string(out, "&gt;");
        return;
    case '"':
        text_append_string(out, "&quot;");
        return;
    case '\'':
        text_append_string(out, "&#39;");
        return;
    default:
        break;
    }
    if (is_deceptive(c))
        text_appendf(out, "\\u{%X}", (unsigned)c);
    else
        text_append(out, bytes, length);
}

void html_escape(struct text *out, const char *string, size_t limit)
{
    size_t size = strnlen(string, limit);
    for (size_t i = 0; i < size;) {
        uint32_t c = 0;
        size_t length = decode_utf8((const unsigned char *)string + i, size - i, &c);
        if (length != 0)
            escape_character(out, c, string + i, length);
        else if (size - i > 3 || size < limit)
            text_append_string(out, "\uFFFD");
        i += length != 0 ? length : 1;
    }
    if (limit == 0 || size < limit || string[size] == 0)
        return;
    text_append_string(out, "\u2026");
    if (limit >= SAYS_SIZE)
        text_appendf(out, " (%zu bytes in all)", size + strlen(string + size));
}

// write_number appends the number that conversion (what stands between % and its last
// letter, inclusive) asks for.
static void write_number(struct text *out, const char *conversion, size_t length,
                         va_list *arguments)
{
    bool wide = length == 3;
    switch (conversion[length - 1]) {
    case 'd':
        text_appendf(out, "%lld",
                     wide ? va_arg(*arguments, long long)
                          : (long long)va_arg(*arguments, int));
        break;
    case 'u':
        text_appendf(out, "%llu",
                     wide          ? va_arg(*arguments, unsigned long long)
                     : length == 2 ? (unsigned long long)va_arg(*arguments, size_t)
                                   : (unsigned long long)va_arg(*arguments, unsigned));
        break;
    case 'x':
        text_appendf(out, "%llx", va_arg(*arguments, unsigned long long));
        break;
    default:
        assert(!"html_write knows no such conversion");
    }
}

static void write_hole(struct text *out, const char *conversion, size_t length,
                       va_list *arguments)
{
    if (conversion[0] == '%') {
        text_append(out, "%", 1);
        return;
    }
    if (conversion[length - 1] != 's') {
        write_number(out, conversion, length, arguments);
        return;
    }
    size_t limit = HTML_STRING_LIMIT;
    if (length == 3) { // .*s
        int precision = va_arg(*arguments, int);
        limit = precision > 0 ? (size_t)precision : 0;
    }
    const char *string = va_arg(*arguments, const char *);
    if (string != NULL)
        html_escape(out, string, limit);
}

void html_write(struct text *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    while (*format != 0) {
        size_t plain = strcspn(format, "%");
        text_append(out, format, plain);
        format += plain;
        if (*format == 0)
            break;
        size_t length = strcspn(format + 1, "sdux%") + 1;
        write_hole(out, format + 1, length, &arguments);
        format += 1 + length;
    }
    va_end(arguments);
}
