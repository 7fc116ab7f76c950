// SPDX-License-Identifier: Apache-2.0
//
// The characters that secrets are found by: letters, and marks.
//
// A mark is a character between names and values. Texts contain other texts (JSON in a
// string, a URL in a parameter, XML), so the same mark has many spellings: `"`, `\"`,
// `%22`, `\u0022`, `&quot;`. Users of this file see one character, how many bytes it
// takes, and how deeply it is escaped. All functions are bounded and only look ahead.
// The C library's own predicates depend on the locale.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// secret_mark is a mark at a position of a text.
struct secret_mark {
    char character; // 0: no mark is there
    unsigned depth; // backslashes before a quote
    size_t length;  // bytes that it takes
};

// secret_mark_at reads the mark that text begins with.
struct secret_mark secret_mark_at(const char *text);

// secret_mark_closes says whether mark ends what quote opened.
bool secret_mark_closes(const struct secret_mark *mark,
                        const struct secret_mark *quote);

static inline bool secret_text_is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static inline bool secret_text_is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static inline bool secret_text_is_letter(char c)
{
    return secret_text_is_upper(c) || secret_text_is_lower(c);
}

static inline bool secret_text_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// secret_text_is_name says whether c can be part of a name, or of a word in general.
static inline bool secret_text_is_name(char c)
{
    return secret_text_is_letter(c) || secret_text_is_digit(c) || c == '_' ||
           c == '-' || c == '.';
}

static inline bool secret_text_is_blank(char c)
{
    return c == ' ' || c == '\t';
}
