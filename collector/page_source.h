// SPDX-License-Identifier: Apache-2.0
//
// The lines of source beside the frames of the crashed thread, from the bundles that
// were sent of their builds. A bundle is opened when the first frame of its build asks,
// and what was looked for in vain is kept for one sentence at the end.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "collector/build_sources.h"

enum { PAGE_SOURCE_BUILDS = 16 };

struct page_source_build {
    const json_t *image;
    bool opened;
    bool wanted;  // by a frame that is the program's own, and not there
    bool partial; // there, without a file that was wanted
    struct build_sources sources;
};

struct page_sources {
    const char *folder; // NULL: there are none
    const json_t *report;
    struct page_source_build builds[PAGE_SOURCE_BUILDS];
    size_t count;
    size_t shown; // frames with lines
    bool opened;  // one of them is
};

// page_sources_init looks into the symbols folder for a report; both outlive it.
void page_sources_init(struct page_sources *sources, const char *folder,
                       const json_t *report);
void page_sources_deinit(struct page_sources *sources);

// page_source_write writes the lines around the frame's, the first time opened where
// opening is allowed, and else folded to the frame's own. Without any it writes
// nothing.
void page_source_write(struct text *out, struct page_sources *sources,
                       const json_t *frame, bool may_open);

// page_source_line appends the frame's line alone as it is, or nothing.
void page_source_line(struct text *out, struct page_sources *sources,
                      const json_t *frame);

// page_source_write_missing says of which builds no sources were sent, and how to.
void page_source_write_missing(struct text *out, const struct page_sources *sources,
                               const char *address);
