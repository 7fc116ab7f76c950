// SPDX-License-Identifier: Apache-2.0
//
// The sources of a debug file, packed for its collector: those files of its line tables
// that are on this machine, in a bundle (formats/interchange/source_bundle.h).
//
// Their number and size are limited, and only regular files that are sources by their
// name are opened, because a debug file may come from a stranger. Part of symbols.c.
#pragma once
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "base/text.h"

// symbol_sources_tick is called now and then while work goes on.
typedef void symbol_sources_tick(void *context);

struct symbol_sources {
    FILE *bundle; // its position is at its beginning; the file has no name
    uint64_t size;
    size_t taken;
    uint64_t taken_bytes;
    size_t absent;     // not on this machine
    size_t unnamed;    // not sources by their names
    size_t not_text;   // with a NUL in them
    size_t too_large;  // for a bundle's limit of one file
    size_t past_limit; // beyond the limit of the bundle
    size_t newer;      // taken, but changed after the debug file
};

// symbol_sources_pack packs the sources of the debug file at path, which was last
// changed at changed_s. CH_ERR_NOT_FOUND: it has no line tables. Other failures are
// those of reading it, or of the bundle's temporary file (CH_ERR_IO).
CH_CHECKED enum ch_status symbol_sources_pack(const char *path, int64_t changed_s,
                                              symbol_sources_tick *tick, void *context,
                                              struct symbol_sources *out);
void symbol_sources_deinit(struct symbol_sources *sources);

// symbol_sources_describe appends what was done with the files: `12 files of 34 KiB;
// left out: 3 not on this machine`.
void symbol_sources_describe(const struct symbol_sources *sources, struct text *out);
