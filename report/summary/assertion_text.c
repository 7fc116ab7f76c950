// SPDX-License-Identifier: Apache-2.0
#include "report/summary/assertion_text.h"

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
