// SPDX-License-Identifier: Apache-2.0
//
// What the program recorded of itself, read from its context page
// (shared/context_page.h): tags, breadcrumbs, data, and which files to attach.
//
// The page is the program's memory at the moment of the crash: each slot is judged on
// its own, each string is bounded by its array, and half-written slots are left out.
#pragma once
#include "agent/live/capture.h"
#include "report/json/json_writer.h"
#include "shared/context_page.h"

// context_read copies the used parts of the page at address to *out, which is all zero
// before. CH_ERR_NOT_FOUND: the program has none. CH_ERR_MALFORMED: it is not a page of
// this version.
CH_CHECKED enum ch_status context_read(const struct memory_reader *memory,
                                       uint64_t address, struct context_page *out);

// context_find reads the page of a process that has not told where it is, by the notes
// in its images. CH_ERR_NOT_FOUND: it has none.
CH_CHECKED enum ch_status context_find(struct capture *capture,
                                       struct context_page *out);

// context_check checks that a copied page has the expected magic, version and size.
CH_CHECKED enum ch_status context_check(const struct context_page *page);

// context_write writes the members tags, breadcrumbs, user_data and attachments. Tags
// from the settings come first; where both have a name, the program's tag wins.
void context_write(struct json_writer *w, const struct capture *capture);
