// SPDX-License-Identifier: Apache-2.0
//
// Source lines beside the frames of the crashed thread, from the source bundles of
// their builds. A bundle is opened when the first frame of its build needs it; which
// bundles and files were missing is kept for one sentence at the end.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "collector/requests/collector.h"
#include "collector/symbols/build_sources.h"

enum { PAGE_SOURCE_BUILDS = 16 };

struct page_source_build {
    const json_t *image;
    bool opened;
    bool wanted;  // a frame of the program's own needed it, and it is missing
    bool partial; // it exists, but a file that was needed is not in it
    struct build_sources sources;
};

struct symbol_store;

struct page_sources {
    struct page_templates templates; // of addresses elsewhere; all NULL: none
    struct symbol_store *symbols;    // NULL: there are none
    const char *project;             // whose sources they may be
    const json_t *report;
    struct page_source_build builds[PAGE_SOURCE_BUILDS];
    size_t count;
    size_t shown; // frames with source lines
    bool opened;  // one of these is shown unfolded
    bool busy;    // a bundle cannot be fetched now
};

struct viewed_report;

// page_sources_init prepares to search for bundles of sources that a report may have;
// viewed must outlive sources.
void page_sources_init(struct page_sources *sources,
                       const struct viewed_report *viewed);
void page_sources_deinit(struct page_sources *sources);

// page_source_write writes the lines around the frame's line: unfolded for the first
// frame for which may_open is set, and folded to the frame's own line for all others.
// It writes nothing where the lines are not available.
void page_source_write(struct text *out, struct page_sources *sources,
                       const json_t *frame, bool may_open);

// page_source_line appends the frame's line without its indentation, or nothing.
void page_source_line(struct text *out, struct page_sources *sources,
                      const json_t *frame);

// page_source_write_missing names the builds whose sources are missing, and how to
// upload them.
void page_source_write_missing(struct text *out, const struct page_sources *sources,
                               const char *address);
