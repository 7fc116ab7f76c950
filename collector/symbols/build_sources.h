// SPDX-License-Identifier: Apache-2.0
//
// The sources of one build, read line by line from the bundle that was uploaded
// (formats/interchange/source_bundle.h). Paths in the bundle are compared with those of
// frames and never opened, and nothing is read beyond the part that holds the requested
// lines. opened, and no more of it is read than the lines that are asked for lie in.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "formats/interchange/source_bundle.h"

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

// source_lines holds lines of a file. Long lines are cut; a NUL is shown as U+FFFD.
struct source_lines {
    uint64_t first; // number of lines[0] in the file
    size_t count;
    char lines[BUILD_SOURCES_LINES][BUILD_SOURCES_LINE_SIZE];
};

// build_sources_open reads the index of a bundle, whose descriptor it owns (-1: there
// is none); false: it cannot be read. build_sources_close releases it.
bool build_sources_open(struct build_sources *out, int fd);
void build_sources_close(struct build_sources *sources);

// build_sources_lines reads the lines around line of the file that a frame calls file.
// A `~` that replaces a masked home directory matches any folder. CH_ERR_NOT_FOUND: the
// bundle does not have the file, or the file does not have the line.
CH_CHECKED enum ch_status build_sources_lines(const struct build_sources *sources,
                                              const char *file, uint64_t line,
                                              struct source_lines *out);

// build_sources_file appends a whole file, by the path that it was built from.
// CH_ERR_NOT_FOUND: the bundle does not have it.
CH_CHECKED enum ch_status build_sources_file(const struct build_sources *sources,
                                             const char *file, struct text *out);
