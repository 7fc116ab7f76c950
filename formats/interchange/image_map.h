// SPDX-License-Identifier: Apache-2.0
//
// Compact Image Map: the list of loaded images that accompanies a backtrace, so that it
// can be symbolized anywhere later (docs/formats/image-map.md).
//
// The output is byte for byte what Swift 6.2 writes, except for its bug with more than
// some 290 different folders, which loses paths. Paths are compressed by a table of
// prefixes that grows with each path, so both directions keep state and allocate; the
// reader's output is limited however much its input promises.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"
#include "base/text.h"

// IMAGE_MAP_PATH_MAX is the longest path that is read.
#define IMAGE_MAP_PATH_MAX 16384

// IMAGE_MAP_PATHS_MAX limits the size of all paths that one map expands to.
#define IMAGE_MAP_PATHS_MAX (64u << 20)

struct image_map_image {
    const char *path; // path_size bytes, any bytes; NULL: none or not known
    size_t path_size;
    const uint8_t *build_id; // NULL: none
    size_t build_id_size;
    uint64_t base;        // address of its lowest mapping
    uint64_t end_of_text; // address where its last executable mapping ends
};

// An image_map_prefix is a range of the bytes in image_map_prefixes.
struct image_map_prefix {
    size_t offset;
    size_t size;
};

// image_map_prefixes is the prefix table, whose codes count up from 32.
struct image_map_prefixes {
    struct text bytes;
    struct image_map_prefix *items;
    size_t count;
    size_t capacity;
};

struct image_map_writer {
    struct text *out;
    unsigned word_bits;
    uint64_t previous_base;
    uint64_t images_left;
    struct image_map_prefixes prefixes;
};

// image_map_writer_init begins a map of image_count images, appended to out, with the
// platform's name of at most 255 bytes. CH_ERR_LIMIT: it is longer.
// CH_ERR_UNSUPPORTED: word_bits is none of 16, 32 and 64.
CH_CHECKED enum ch_status image_map_writer_init(struct image_map_writer *writer,
                                                struct text *out, unsigned word_bits,
                                                const char *platform,
                                                size_t image_count);

// image_map_writer_deinit frees what the writer holds; out stays.
void image_map_writer_deinit(struct image_map_writer *writer);

// image_map_write adds the next image. CH_ERR_MALFORMED: it ends before its base.
// CH_ERR_LIMIT: more images than were announced.
CH_CHECKED enum ch_status image_map_write(struct image_map_writer *writer,
                                          const struct image_map_image *image);

struct image_map_reader {
    struct cursor input;
    unsigned version;
    unsigned word_bits;
    const char *platform; // platform_size bytes of the input
    size_t platform_size;
    uint64_t image_count; // as announced; reading ends with the input
    uint64_t images_left;
    uint64_t previous_base;
    size_t paths_size; // of all paths so far
    bool path_cut;     // the input ended inside the last one
    struct text path;  // of the image last read
    struct image_map_prefixes prefixes;
};

// image_map_reader_init begins to read size bytes, which must outlive the reader. The
// reader has to be deinited whatever is returned.
CH_CHECKED enum ch_status image_map_reader_init(struct image_map_reader *reader,
                                                const void *bytes, size_t size);

// image_map_reader_deinit frees what the reader holds; a zeroed reader is allowed.
void image_map_reader_deinit(struct image_map_reader *reader);

// image_map_next reads one image; its path is valid until the next call. CH_END: all
// were read. A path with an undefined prefix code is unknown: NULL. If the input ends
// inside a path, the image is given without it and the next call returns
// CH_ERR_TRUNCATED. After a failure reader->input is at the start of the image or path.
CH_CHECKED enum ch_status image_map_next(struct image_map_reader *reader,
                                         struct image_map_image *out);
