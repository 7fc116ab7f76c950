// SPDX-License-Identifier: Apache-2.0
#include "report/secrets/secret_span.h"

#include <string.h>
#include <strings.h>

const char *secret_span_after_blanks(const char *at)
{
    struct secret_mark mark = secret_mark_at(at);
    while (secret_text_is_blank(mark.character)) {
        at += mark.length;
        mark = secret_mark_at(at);
    }
    return at;
}

struct secret_span secret_span_quoted(const char *at, const struct secret_mark *quote)
{
    struct secret_span span = { at + quote->length, at + quote->length };
    while (*span.end != 0) {
        struct secret_mark mark = secret_mark_at(span.end);
        if (mark.character != 0 && secret_mark_closes(&mark, quote))
            break;
        span.end += mark.length != 0 ? mark.length : 1;
    }
    return span;
}

struct secret_span secret_span_up_to(const char *at, const char *ends, bool spelt)
{
    struct secret_span span = { at, at };
    while (*span.end != 0) {
        struct secret_mark mark = secret_mark_at(span.end);
        bool counts = spelt || mark.length == 1 || *span.end == '\\';
        if (counts && mark.character != 0 && strchr(ends, mark.character) != NULL)
            break;
        span.end += mark.length != 0 ? mark.length : 1;
    }
    return span;
}

struct secret_span secret_span_word(const char *at, bool spelt)
{
    struct secret_span span = secret_span_up_to(at, " \t\n\r&;,\"'`<", spelt);
    while (span.end > span.start && strchr(")]}>.", span.end[-1]) != NULL)
        span.end--;
    return span;
}

// words_said are what a sentence about a secret goes on with, where another text has
// the secret.
static const char *const words_said[] = {
    "also",
    "and",
    "are",
    "argument",
    "auth",
    "authentication",
    "authorization",
    "but",
    "can",
    "cannot",
    "could",
    "did",
    "does",
    "expired",
    "failed",
    "flag",
    "for",
    "from",
    "has",
    "have",
    "if",
    "in",
    "is",
    "it",
    "may",
    "missing",
    "multiple",
    "must",
    "needs",
    "not",
    "of",
    "on",
    "option",
    "or",
    "realm",
    "requires",
    "scheme",
    "should",
    "that",
    "the",
    "to",
    "token",
    "tokens",
    "used",
    "was",
    "which",
    "will",
    "with",
    "without",
};

bool secret_span_is_said(const struct secret_span *word)
{
    size_t length = (size_t)(word->end - word->start);
    for (size_t i = 0; i < sizeof(words_said) / sizeof(words_said[0]); i++) {
        if (strlen(words_said[i]) == length &&
            strncasecmp(words_said[i], word->start, length) == 0)
            return true;
    }
    return length == 0;
}
