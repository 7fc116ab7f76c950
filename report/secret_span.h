// SPDX-License-Identifier: Apache-2.0
//
// Where a value begins and ends that stands after a name in a text.
//
// Nothing here knows what is secret; it reads marks (report/secret_text.h), so that a
// value ends where its notation ends it. Each function looks at the value alone.
// User: report/sanitize.c.
#pragma once
#include <stdbool.h>

#include "report/secret_text.h"

// A value, without its quotes.
struct secret_span {
    const char *start;
    const char *end;
};

// secret_span_after_blanks is where the blanks at at end.
const char *secret_span_after_blanks(const char *at);

// secret_span_quoted is what stands between the quote at at and the one that closes it.
struct secret_span secret_span_quoted(const char *at, const struct secret_mark *quote);

// secret_span_up_to ends at one of the characters. Other spellings of them count where
// the separator was spelt so too: elsewhere `%26` belongs to the value.
struct secret_span secret_span_up_to(const char *at, const char *ends, bool spelt);

// secret_span_word is a value of one word; brackets and points at its end belong to the
// text.
struct secret_span secret_span_word(const char *at, bool spelt);

// secret_span_is_said is whether it is a word that follows the name of a secret in
// sentences: `--token requires`, `Bearer authentication`.
bool secret_span_is_said(const struct secret_span *word);
