// SPDX-License-Identifier: Apache-2.0
//
// What all pages are made of: the frame around them, times, trends, and the limits on
// what one page prints. A page says where something was left out.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "collector/server/http.h"
#include "collector/store/store.h"

// PAGE_ZONE_COOKIE is the name of the cookie with the zone that a person chose.
#define PAGE_ZONE_COOKIE "crashhook_zone"

enum {
    PAGE_BYTES = 4 << 20, // a page of this size lists nothing more
    PAGE_NAME = 1500,     // bytes of a function's name that are shown
    PAGE_SHORT = 200,     // bytes of text that are shown in a narrow place
    PAGE_VALUE = 400,     // of the value of a variable
};

// page_begin writes everything up to the page's own content. title is shown in the tab;
// crumb, where not NULL, names the page after the link back to the groups.
void page_begin(struct text *out, const char *title, const char *crumb);

// page_end closes what page_begin opened. page_finish ends the page that the request's
// answer has, unless its store failed: then it answers as api_fail_store does.
void page_end(struct text *out);
void page_finish(struct http_request *request, enum ch_status status, const char *what);

// page_is_full returns true if a page must stop listing.
bool page_is_full(const struct text *out);

// page_write_cut reports how many of count things, those after the first shown ones,
// are only in the JSON, if any are. what is their name, or empty where that is clear.
void page_write_cut(struct text *out, size_t shown, size_t count, const char *what);

// page_zone_name is the name of the zone that the calling thread writes times in.
const char *page_zone_name(void);

// page_write_exact writes a time in that zone, as ISO 8601 has it.
void page_write_exact(struct text *out, int64_t time_ms);

// page_write_time writes how long ago time_ms was, with the exact time as its hint.
void page_write_time(struct text *out, int64_t time_ms, int64_t now_ms);

// page_write_age does so in fewer bytes, for lists, after a word or two about what.
void page_write_age(struct text *out, const char *what, int64_t time_ms,
                    int64_t now_ms);

// page_write_trend draws a group's reports a day as bars; large ones say their day.
void page_write_trend(struct text *out, const struct store_group *group, bool large);

// page_write_link writes text as a link to the groups with a report of which key (of
// search.h) is value; class is that of the link.
void page_write_link(struct text *out, const char *class, const char *key,
                     const char *value, const char *text);

// page_begin_link begins such a link, for what is more than text; it ends with </a>.
void page_begin_link(struct text *out, const char *class, const char *key,
                     const char *value);

// page_base_name is the part of a path after its last slash, or all of it.
const char *page_base_name(const char *path);

// page_write_summary writes a sentence as the heading.
void page_write_summary(struct text *out, const char *summary);
