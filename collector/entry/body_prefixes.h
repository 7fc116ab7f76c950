// SPDX-License-Identifier: Apache-2.0
//
// What the reports of a group have in common is stored once. Bodies of later ones are
// compressed with it as what comes before them (ZSTD_CCtx_refPrefix of libzstd), which
// leaves about half of what gzip leaves.
//
// A prefix has the places, stacks and images of one report, and of the rest the keys
// without the values: so whoever deletes that report leaves nothing of its process
// behind. A group gets a new one each week, from its second report on; one that no body
// was compressed with goes two weeks after its own. A collector knows 512 of them, of
// at most 16 KB each.
#pragma once
#include "base/text.h"
#include "collector/entry/entry.h"

struct body_prefixes;

// text_part is bytes of somebody else's.
struct text_part {
    const void *bytes;
    size_t size;
};

// BODY_PREFIX_WEEKS pass before a prefix may go, so that nobody compresses with it
// then.
enum { BODY_PREFIX_WEEKS = 2 };

// body_prefixes_create knows none yet. NULL: out of memory.
struct body_prefixes *body_prefixes_create(void);
void body_prefixes_destroy(struct body_prefixes *prefixes);

// body_prefix_week is the week of a prefix for a report received then.
int64_t body_prefix_week(int64_t received_ms);

// body_prefixes_note keeps what the store has for reports like this one.
void body_prefixes_note(struct body_prefixes *prefixes, const struct entry *entry,
                        int64_t number, const void *bytes, size_t size);

// body_prefix_make writes what the text of a report may have in common with others.
void body_prefix_make(const char *json, size_t size, struct text *out);

// body_prefixes_compress appends to out what a report's text compresses to, if that is
// smaller than limit, and gives the prefix's number; else 0. out_known says whether
// there is a prefix, or none is needed, because of the text's size.
int64_t body_prefixes_compress(struct body_prefixes *prefixes,
                               const struct entry *entry, const struct text_part *json,
                               size_t limit, bool *out_known, struct text *out);

// body_prefix_expand appends the text that was compressed with a prefix.
// CH_ERR_MALFORMED: it was not compressed with this one; CH_ERR_NO_MEMORY.
CH_CHECKED enum ch_status body_prefix_expand(const struct text_part *compressed,
                                             const struct text_part *prefix,
                                             struct text *out);
