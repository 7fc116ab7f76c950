// SPDX-License-Identifier: Apache-2.0
//
// Where a value that follows a name in a text begins and ends.
//
// This code does not know what is secret; it reads marks
// (report/secrets/secret_text.h), so that a value ends where its notation ends it. Each
// function examines only the value. User: report/secrets/sanitize.c.
#pragma once
#include <stdbool.h>

#include "report/secrets/secret_text.h"

// secret_span is a value, without its quotes.
struct secret_span {
    const char *start;
    const char *end;
};

// secret_span_after_blanks is the position after the blanks at at.
const char *secret_span_after_blanks(const char *at);

// secret_span_quoted is the text between the quote at at and the quote that closes it.
struct secret_span secret_span_quoted(const char *at, const struct secret_mark *quote);

// secret_span_up_to ends at one of the characters in ends. Escaped spellings of them
// count only if the separator was escaped too: elsewhere `%26` belongs to the value.
struct secret_span secret_span_up_to(const char *at, const char *ends, bool spelt);

// secret_span_word is a value of one word; brackets and full stops at its end belong to
// the text around it.
struct secret_span secret_span_word(const char *at, bool spelt);

// secret_span_is_said is true for a word that follows the name of a secret in
// sentences: `--token requires`, `Bearer authentication`.
bool secret_span_is_said(const struct secret_span *word);
