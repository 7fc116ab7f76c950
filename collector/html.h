// SPDX-License-Identifier: Apache-2.0
//
// Writing HTML whose every value comes from a stranger.
//
// A page is literal markup with holes: html_write(out, "<b>%s</b>", name). The markup
// is the format, which is ours; whatever fills a hole is escaped, shortened and
// stripped of what could disguise it, with no way to say otherwise. So a page is safe
// by how it is written, inside text and inside quoted attributes alike.
//
// Limits: HTML_STRING_LIMIT bytes of one string unless the format says less (`%.*s`).
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

// HTML_STRING_LIMIT is how many bytes of one value a page shows.
#define HTML_STRING_LIMIT 4000

// html_write appends format, its holes filled: %s and %.*s (escaped; NULL is empty),
// %d, %u, %zu, %lld, %llu, %llx, %%. Nothing else may stand in format.
void html_write(struct text *out, const char *format, ...) CH_PRINTF(2, 3);

// html_escape appends at most limit bytes of string as text: the five special
// characters as entities; control characters, bidirectional overrides and invisible
// characters as
// `\u{202E}`; bytes that are no UTF-8 as U+FFFD. An ellipsis stands for what was cut,
// from 1,000 bytes on with the whole size.
void html_escape(struct text *out, const char *string, size_t limit);
