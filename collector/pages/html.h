// SPDX-License-Identifier: Apache-2.0
//
// Writing HTML in which every value comes from a stranger.
//
// A page is literal markup with holes: html_write(out, "<b>%s</b>", name). The markup
// is the format, which is ours; whatever fills a hole is escaped, shortened and
// stripped of characters that could disguise it, and no hole can opt out. So a page is
// safe by construction, inside text and inside quoted attributes alike.
//
// Limits: HTML_STRING_LIMIT bytes of one string unless the format says less (`%.*s`).
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

// HTML_STRING_LIMIT is how many bytes of one value a page shows.
#define HTML_STRING_LIMIT 4000

// html_write appends format with its holes filled: %s and %.*s (escaped; NULL is
// empty), %d, %u, %zu, %lld, %'lld (with its thousands separated), %llu, %llx, %%. A
// lint (source_rules) rejects any other conversion; the text ends before one that it
// did not see.
void html_write(struct text *out, const char *format, ...) CH_PRINTF(2, 3);

// html_escape appends at most limit bytes of string as text: the five special
// characters as entities; control characters, bidirectional overrides and invisible
// characters as `\u{202E}`; bytes that are not UTF-8 as U+FFFD. An ellipsis follows a
// string that was cut, and for limits from 1,000 bytes on also the size of the whole
// string.
void html_escape(struct text *out, const char *string, size_t limit);
