// SPDX-License-Identifier: Apache-2.0
//
// The sources of a debug file, packed for its collector: of the files that its line
// tables list those that are on this machine, in a bundle (formats/source_bundle.h).
//
// What is taken is bounded in number and size, and only plain files that are sources by
// their name are opened: a debug file may be a stranger's. Part of symbols.c.
#pragma once
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "base/text.h"

// A symbol_sources_tick is told now and then that work goes on.
typedef void symbol_sources_tick(void *context);

struct symbol_sources {
    FILE *bundle; // at its beginning, in a file without a name
    uint64_t size;
    size_t taken;
    uint64_t taken_bytes;
    size_t absent;     // not on this machine
    size_t unnamed;    // no source by their names
    size_t not_text;   // with a NUL in them
    size_t too_large;  // than a bundle takes of one file
    size_t past_limit; // of the bundle
    size_t newer;      // taken, and changed after the debug file was
};

// symbol_sources_pack packs the sources of the debug file at path, last changed at
// changed_s. CH_ERR_NOT_FOUND: it has no line tables. What fails otherwise is reading
// it, or the bundle's temporary file (CH_ERR_IO).
CH_CHECKED enum ch_status symbol_sources_pack(const char *path, int64_t changed_s,
                                              symbol_sources_tick *tick, void *context,
                                              struct symbol_sources *out);
void symbol_sources_deinit(struct symbol_sources *sources);

// symbol_sources_describe appends what became of the files: `12 files of 34 KiB; left
// out: 3 not on this machine`.
void symbol_sources_describe(const struct symbol_sources *sources, struct text *out);
