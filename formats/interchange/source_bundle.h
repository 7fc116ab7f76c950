// SPDX-License-Identifier: Apache-2.0
//
// A source bundle is the source files of one build in one file: an index of paths and
// sizes, then the files one after the other (docs/formats/source-bundle.md).
//
// To show some lines, a reader needs the index and that part of the file. Nothing is
// compressed, so the output is never larger than the input. Paths are compared with
// those of frames and are never opened. Written by `crashhook symbols upload
// --sources`, read by the collector. An artefact of `crashhook ci` has this form too.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"
#include "base/text.h"

enum {
    SOURCE_BUNDLE_FILES = 16384,         // in one bundle
    SOURCE_BUNDLE_FILE_BYTES = 16 << 20, // of one of them
    SOURCE_BUNDLE_BYTES = 256 << 20,     // of a bundle
    SOURCE_BUNDLE_INDEX_BYTES = 4 << 20,
    SOURCE_BUNDLE_PATH_BYTES = 4095,
};

struct source_bundle_file {
    const char *path; // path_size bytes, without a NUL
    size_t path_size;
    uint64_t offset; // from the end of the index
    uint64_t size;
};

struct source_bundle_reader {
    struct cursor input;
    uint64_t offset; // of the next file
    size_t count;
};

// source_bundle_read begins with the index of a bundle that starts with size bytes,
// which may end after the index. CH_ERR_UNSUPPORTED: not a bundle of this version.
CH_CHECKED enum ch_status source_bundle_read(struct source_bundle_reader *reader,
                                             const void *bytes, size_t size);

// source_bundle_next gives the next file, CH_END after the last one. CH_ERR_TRUNCATED:
// the index continues after the bytes. CH_ERR_LIMIT: more than a bundle may hold.
CH_CHECKED enum ch_status source_bundle_next(struct source_bundle_reader *reader,
                                             struct source_bundle_file *out);

// source_bundle_index_size is the size of the index, known once source_bundle_next has
// returned CH_END.
size_t source_bundle_index_size(const struct source_bundle_reader *reader);

// source_bundle_check reads the index of a whole bundle of size bytes, and checks that
// it accounts for every byte.
CH_CHECKED enum ch_status source_bundle_check(const void *bytes, size_t size);

// source_bundle_find gives the contents of the file at path in a whole bundle. Lines
// of the index that follow each other with one path are parts of one file, which is
// how an artefact holds more than SOURCE_BUNDLE_FILE_BYTES. False: it is not there.
bool source_bundle_find(struct cursor bundle, const char *path, struct cursor *out);

// source_bundle_write_begin starts an index, source_bundle_write_file adds a file to
// it, source_bundle_write_end ends it; the contents follow. CH_ERR_MALFORMED: the path
// cannot be stored; nothing was written.
void source_bundle_write_begin(struct text *out);
CH_CHECKED enum ch_status source_bundle_write_file(struct text *out, const char *path,
                                                   uint64_t size);
void source_bundle_write_end(struct text *out);
