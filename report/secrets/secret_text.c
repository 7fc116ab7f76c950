// SPDX-License-Identifier: Apache-2.0
#include "report/secrets/secret_text.h"

#include <string.h>

enum { BACKSLASHES_MAX = 15 };

static bool is_mark(char c)
{
    return c != 0 && strchr("=:\"'`&;,{}[]()<> \t\r\n", c) != NULL;
}

static int hex_value(char c)
{
    if (secret_text_is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// hex_mark decodes two hex digits, at text + skip.
static struct secret_mark hex_mark(const char *text, size_t skip)
{
    int high = hex_value(text[skip]);
    int low = high >= 0 ? hex_value(text[skip + 1]) : -1;
    char c = low >= 0 ? (char)(high * 16 + low) : 0;
    if (!is_mark(c))
        return (struct secret_mark){ 0 };
    return (struct secret_mark){ .character = c, .length = skip + 2 };
}

static struct secret_mark entity_mark(const char *text)
{
    static const struct {
        const char *name;
        char character;
    } entities[] = {
        { "&quot;", '"' }, { "&apos;", '\'' }, { "&#34;", '"' }, { "&#39;", '\'' },
        { "&amp;", '&' },  { "&lt;", '<' },    { "&gt;", '>' },
    };
    for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++) {
        size_t length = strlen(entities[i].name);
        if (strncmp(text, entities[i].name, length) == 0)
            return (struct secret_mark){ .character = entities[i].character,
                                         .length = length };
    }
    return (struct secret_mark){ .character = '&', .length = 1 };
}

// escaped_mark decodes what backslashes begin: a quote, a newline, \u0022.
static struct secret_mark escaped_mark(const char *text)
{
    size_t depth = 0;
    while (depth < BACKSLASHES_MAX && text[depth] == '\\')
        depth++;
    char c = text[depth];
    struct secret_mark mark = { .depth = (unsigned)depth, .length = depth + 1 };
    if (c == '"' || c == '\'')
        mark.character = c;
    else if (c == 'n' || c == 'r')
        mark.character = '\n';
    else if (c == 'u' && text[depth + 1] == '0' && text[depth + 2] == '0')
        return hex_mark(text, depth + 3);
    return mark.character != 0 ? mark : (struct secret_mark){ 0 };
}

struct secret_mark secret_mark_at(const char *text)
{
    switch (text[0]) {
    case '%':
        return hex_mark(text, 1);
    case '&':
        return entity_mark(text);
    case '\\':
        return escaped_mark(text);
    default:
        if (!is_mark(text[0]))
            return (struct secret_mark){ 0 };
        return (struct secret_mark){ .character = text[0], .length = 1 };
    }
}

// secret_mark_closes: within "..." a quote after one backslash belongs to the text, a
// quote after two ends it; within \"...\" any quote that is escaped no deeper ends it.
bool secret_mark_closes(const struct secret_mark *mark, const struct secret_mark *quote)
{
    if (mark->character != quote->character)
        return false;
    if (quote->depth == 0)
        return mark->depth % 2 == 0;
    return mark->depth <= quote->depth;
}
