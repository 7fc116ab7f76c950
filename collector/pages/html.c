// SPDX-License-Identifier: Apache-2.0
#include "collector/pages/html.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

// SAYS_SIZE is the limit from which a cut string is followed by its whole size: in
// narrow places that would be longer than the text itself.
enum { SAYS_SIZE = 1000 };
enum { GROUPED_SIZE = 48 }; // 20 characters, and three bytes for each third

// is_deceptive is true for a character that is invisible or changes how its neighbours
// look.
static bool is_deceptive(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        // Controls except tab and newline; soft hyphen, marks and separators without a
        // glyph; zero-width characters and direction marks; bidirectional embeddings,
        // overrides and isolates; variation selectors; byte order mark; interlinear
        // annotations; tags.
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
        size_t length = utf8_decode(string + i, size - i, &c);
        // Up to three bytes before the limit may be a character that the limit cut.
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

enum hole {
    HOLE_NONE,
    HOLE_PERCENT,
    HOLE_STRING,
    HOLE_CUT_STRING,
    HOLE_INT,
    HOLE_UNSIGNED,
    HOLE_SIZE,
    HOLE_LONG,
    HOLE_GROUPED,
    HOLE_UNSIGNED_LONG,
    HOLE_HEX,
};

// hole_of returns the conversion of length characters that follows a per cent sign.
static enum hole hole_of(const char *conversion, size_t length)
{
    static const struct {
        const char *spelled;
        enum hole hole;
    } holes[] = { { "%", HOLE_PERCENT },         { "s", HOLE_STRING },
                  { ".*s", HOLE_CUT_STRING },    { "d", HOLE_INT },
                  { "u", HOLE_UNSIGNED },        { "zu", HOLE_SIZE },
                  { "lld", HOLE_LONG },          { "'lld", HOLE_GROUPED },
                  { "llu", HOLE_UNSIGNED_LONG }, { "llx", HOLE_HEX } };
    for (size_t i = 0; i < sizeof(holes) / sizeof(holes[0]); i++) {
        if (strlen(holes[i].spelled) == length &&
            strncmp(holes[i].spelled, conversion, length) == 0)
            return holes[i].hole;
    }
    return HOLE_NONE;
}

// group_digits separates thousands by a thin space.
static void group_digits(long long number, char out[GROUPED_SIZE])
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%lld", number);
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-') {
            memcpy(out, "\u2009", 3);
            out += 3;
        }
        *out++ = digits[i];
    }
    *out = 0;
}

void html_write(struct text *out, const char *format, ...)
{
    const char *string = NULL;
    char grouped[GROUPED_SIZE];
    va_list holes;
    va_start(holes, format);
    while (*format != 0) {
        size_t plain = strcspn(format, "%");
        text_append(out, format, plain);
        format += plain;
        if (*format == 0)
            break;
        size_t length = strcspn(format + 1, "sdux%") + 1;
        int limit = HTML_STRING_LIMIT;
        switch (hole_of(format + 1, length)) {
        case HOLE_PERCENT:
            text_append(out, "%", 1);
            break;
        case HOLE_CUT_STRING:
            limit = va_arg(holes, int);
            __attribute__((fallthrough));
        case HOLE_STRING:
            string = va_arg(holes, const char *);
            if (string != NULL)
                html_escape(out, string, limit > 0 ? (size_t)limit : 0);
            break;
        case HOLE_INT:
            text_appendf(out, "%d", va_arg(holes, int));
            break;
        case HOLE_UNSIGNED:
            text_appendf(out, "%u", va_arg(holes, unsigned));
            break;
        case HOLE_SIZE:
            text_appendf(out, "%zu", va_arg(holes, size_t));
            break;
        case HOLE_LONG:
            text_appendf(out, "%lld", va_arg(holes, long long));
            break;
        case HOLE_GROUPED:
            group_digits(va_arg(holes, long long), grouped);
            text_append_string(out, grouped);
            break;
        case HOLE_UNSIGNED_LONG:
            text_appendf(out, "%llu", va_arg(holes, unsigned long long));
            break;
        case HOLE_HEX:
            text_appendf(out, "%llx", va_arg(holes, unsigned long long));
            break;
        case HOLE_NONE:
            // The arguments that follow cannot be read: their types are unknown.
            assert(!"html_write knows no such conversion");
            va_end(holes);
            return;
        }
        format += 1 + length;
    }
    va_end(holes);
}
