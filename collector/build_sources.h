// SPDX-License-Identifier: Apache-2.0
//
// The sources of one build, taken line by line out of the bundle that was sent
// (formats/source_bundle.h). Its paths are compared with those of frames and never
// opened, and no more of it is read than the lines that are asked for lie in.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "formats/source_bundle.h"

enum {
    BUILD_SOURCES_AROUND = 5, // lines before, and after
    BUILD_SOURCES_LINES = 2 * BUILD_SOURCES_AROUND + 1,
    BUILD_SOURCES_LINE_SIZE = 512,
};

struct build_sources {
    int fd; // -1: none
    size_t index_size;
    struct text index;
};

// Lines of a file, each cut where it is long, NULs shown as U+FFFD.
struct source_lines {
    uint64_t first; // the number of lines[0]
    size_t count;
    char lines[BUILD_SOURCES_LINES][BUILD_SOURCES_LINE_SIZE];
};

// build_sources_open opens the bundle of build ID id; false: there is none that can be
// read. build_sources_close releases it.
bool build_sources_open(struct build_sources *out, const char *folder, const char *id);
void build_sources_close(struct build_sources *sources);

// build_sources_lines reads the lines around line of the file that a frame calls file.
// The `~` of one whose home was masked stands for any folder. CH_ERR_NOT_FOUND: the
// bundle has no such file, or that no such line.
CH_CHECKED enum ch_status build_sources_lines(const struct build_sources *sources,
                                              const char *file, uint64_t line,
                                              struct source_lines *out);
