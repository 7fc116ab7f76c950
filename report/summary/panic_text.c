// SPDX-License-Identifier: Apache-2.0
#include "report/summary/panic_text.h"

#include <stddef.h>
#include <string.h>

// last_of finds the last occurrence of words: an expression may contain them too.
static const char *last_of(const char *text, const char *words)
{
    const char *last = NULL;
    for (const char *at = strstr(text, words); at != NULL; at = strstr(at + 1, words))
        last = at;
    return last;
}

const char *assertion_text(const char *message, size_t *out_size)
{
    static const char glibc[] = "Assertion `";
    static const char musl[] = "Assertion failed: ";
    const char *begin = message + sizeof(musl) - 1;
    const char *end = NULL;
    if (strncmp(message, musl, sizeof(musl) - 1) == 0) {
        end = last_of(begin, " (");
    } else {
        begin = strstr(message, glibc);
        if (begin == NULL)
            return NULL;
        begin += sizeof(glibc) - 1;
        end = last_of(begin, "' failed");
    }
    // Without its end the message was cut.
    *out_size = end != NULL ? (size_t)(end - begin) : strlen(begin);
    return begin;
}

static const char digits[] = "0123456789";

// after_place is what comes after `file:line:column` and what separates it, or NULL: it
// is no place.
static const char *after_place(const char *text)
{
    for (const char *at = strchr(text, ':'); at != NULL; at = strchr(at + 1, ':')) {
        size_t line = strspn(at + 1, digits);
        const char *next = at + 1 + line;
        size_t column = line != 0 && *next == ':' ? strspn(next + 1, digits) : 0;
        if (column == 0)
            continue;
        next += 1 + column;
        return next + strspn(next, ": \n");
    }
    return NULL;
}

const char *panic_text(const char *message, size_t *out_size)
{
    static const char rust[] = " panicked at ";
    static const char go[] = "panic: ";
    const char *text = strstr(message, rust);
    if (text == NULL) {
        text = strncmp(message, go, sizeof(go) - 1) == 0 ? message + sizeof(go) - 1
                                                         : message;
        *out_size = strcspn(text, "\n");
        return text;
    }
    text += sizeof(rust) - 1;
    // Before Rust 1.73 the place came after what was said, which was quoted.
    const char *end = *text == '\'' ? strstr(text, "', ") : NULL;
    if (end != NULL) {
        text++;
        *out_size = strcspn(text, "\n");
        *out_size = *out_size < (size_t)(end - text) ? *out_size : (size_t)(end - text);
        return text;
    }
    const char *after = after_place(text);
    text = after != NULL ? after : text;
    *out_size = strcspn(text, "\n");
    return text;
}
