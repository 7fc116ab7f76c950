// SPDX-License-Identifier: Apache-2.0
//
// What the program has said of itself, read from its context page
// (handler/context_page.h): tags, breadcrumbs, data, and which files to attach.
//
// The page is the program's memory at the moment of a crash: every slot is taken for
// itself, every string within its bounds, and what is half written is left out.
#pragma once
#include "agent/capture.h"
#include "handler/context_page.h"
#include "report/json_writer.h"

// context_read copies the page at address. CH_ERR_NOT_FOUND: the program has none.
// CH_ERR_MALFORMED: what is there is none of this version.
CH_CHECKED enum ch_status context_read(const struct memory_reader *memory,
                                       uint64_t address, struct context_page *out);

// context_check says whether a page that was copied is one.
CH_CHECKED enum ch_status context_check(const struct context_page *page);

// context_write writes the members tags, breadcrumbs, user_data and attachments. Tags
// of the settings come first, and of two with the same name the program's counts.
void context_write(struct json_writer *w, const struct capture *capture);
