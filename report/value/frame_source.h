// SPDX-License-Identifier: Apache-2.0
//
// The source lines around a frame, if the file is on this machine: they often explain a
// crash at a glance.
//
// Lines of a file that changed since the build are others than those that ran. DWARF 5
// can have an MD5 of the file; else it must not be newer than the program, if that is
// here and of the same build, and not newer than the crash. Users: the report in a
// terminal, events of Sentry, artefacts of builds.
#pragma once
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cursor.h"
#include "base/status.h"

enum { FRAME_SOURCE_LINES = 11 };

// frame_source_state returns true if a file here is the one that was built.
enum frame_source_state {
    FRAME_SOURCE_BUILT,
    FRAME_SOURCE_CHANGED,
    FRAME_SOURCE_UNCHECKED
};

struct frame_source {
    enum frame_source_state state;
    int64_t first;                   // the number of the first line
    char *lines[FRAME_SOURCE_LINES]; // without their ends; in any encoding
    size_t count;
};

// frame_source_read reads up to `around` lines before and after the line of a frame of
// report, at most FRAME_SOURCE_LINES in all. bundle is a source bundle of that build,
// which is searched before this machine; NULL or empty: none. CH_ERR_NOT_FOUND: the
// frame names no file, or it is not here, no source by its name, or too large.
CH_CHECKED enum ch_status frame_source_read(const json_t *report, const json_t *frame,
                                            int64_t around, const struct cursor *bundle,
                                            struct frame_source *out);
void frame_source_deinit(struct frame_source *source);

// frame_source_open opens the source of a frame for reading, if the file on this
// machine is the one that was built, and frame_image_open the frame's image, if it is
// of the report's build. NULL: it is not; otherwise close it with fclose.
FILE *frame_source_open(const json_t *report, const json_t *frame);
FILE *frame_image_open(const json_t *report, const json_t *frame);

// Source files that a report or a debug file names. The names come from strangers, so a
// file that is not a source by its name is not opened, and one that is not a regular
// file is not read.

// source_file_open opens the source at path for reading; close it with fclose.
// CH_ERR_UNSUPPORTED: its name is not that of a source, or the path is relative.
// CH_ERR_NOT_FOUND: there is no such file, or it cannot be read, or is not a regular
// one. CH_ERR_LIMIT: it is larger than limit_bytes.
CH_CHECKED enum ch_status source_file_open(const char *path, uint64_t limit_bytes,
                                           FILE **out);
