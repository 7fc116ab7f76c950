// SPDX-License-Identifier: Apache-2.0
//
// A symbol_cache is everything symbol_image knows of one build, in one file that
// answers an address without touching DWARF (docs/formats/symbol-cache.md).
//
// The file is mapped and nothing is prepared: an address costs one binary search, the
// decoding of a few dozen bytes, and the frames it has. Each page is checked against
// its checksum when it is first read, so that opening stays cheap and damage is noticed
// all the same. Bytes are read with cursors alone; references go backwards only.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "symbolizer/names/debug_search.h"
#include "symbolizer/names/symbol_frame.h"

enum {
    SYMBOL_CACHE_VERSION = 2,
    SYMBOL_CACHE_HEADER_SIZE = 176,
    SYMBOL_CACHE_PAGE = 4096,
    SYMBOL_CACHE_BLOCK_ROWS = 32, // rows that are decoded one after the other
    SYMBOL_CACHE_BLOCK_SIZE = 8,
    SYMBOL_CACHE_MAGIC_SIZE = 8,
    SYMBOL_CACHE_CHECKED_FROM = 16, // what the header's own checksum covers
};

#define SYMBOL_CACHE_MAGIC "CHSYMS\r\n"

// SYMBOL_CACHE_FILE_MAX bounds the file, and with it what opening allocates.
#define SYMBOL_CACHE_FILE_MAX (1u << 30)

enum symbol_cache_section {
    SYMBOL_CACHE_BLOCKS,       // where each block of rows begins
    SYMBOL_CACHE_ROWS,         // by address: node, file, line, column
    SYMBOL_CACHE_NODES,        // a frame and the one it was inlined into
    SYMBOL_CACHE_FUNCTIONS,    // name and linker's name
    SYMBOL_CACHE_FILES,        // source files, as offsets of their names
    SYMBOL_CACHE_NAMES,        // strings that end in NUL
    SYMBOL_CACHE_LINKER_NAMES, // apart: only JSON wants them
    SYMBOL_CACHE_SECTIONS,
};

// What bits 0 to 2 of a row say follows; the address's distance is in the bits above.
enum symbol_cache_row {
    SYMBOL_CACHE_ROW_NODE = 1,
    SYMBOL_CACHE_ROW_FILE = 2,
    SYMBOL_CACHE_ROW_PLACE = 4, // line and column
    SYMBOL_CACHE_ROW_SHIFT = 3,
};

// What the first byte of a node says.
enum symbol_cache_node {
    SYMBOL_CACHE_NODE_INLINED = 1,
    SYMBOL_CACHE_NODE_OF_SOURCE = 2, // the linker's name is not known
    SYMBOL_CACHE_NODE_PARENT = 4,    // there is a frame around it, and where it calls
    SYMBOL_CACHE_NODE_START = 8,     // where the function begins
};

struct symbol_cache_span {
    uint32_t offset; // in the file
    uint32_t size;
};

struct symbol_cache {
    const uint8_t *bytes;
    size_t size;
    bool mapped; // bytes are a mapping of ours
    uint64_t base;
    uint64_t text[2];
    size_t data_offset;
    uint32_t page_count;
    uint8_t *checked; // a bit for each page
    struct symbol_cache_span sections[SYMBOL_CACHE_SECTIONS];
};

// symbol_cache_over is a cache over the size bytes at bytes, which must outlive it, of
// the build id. CH_ERR_MALFORMED: damaged, or of another build. CH_ERR_UNSUPPORTED: of
// another version.
CH_CHECKED enum ch_status symbol_cache_over(struct symbol_cache *out, const void *bytes,
                                            size_t size, const struct build_id *id);

// symbol_cache_map is symbol_cache_over with the file fd, which may be closed after it.
CH_CHECKED enum ch_status symbol_cache_map(struct symbol_cache *out, int fd,
                                           const struct build_id *id);

// symbol_cache_deinit unmaps and frees what cache holds; a zeroed one is empty.
void symbol_cache_deinit(struct symbol_cache *cache);

// symbol_cache_find writes the frames at vaddr to frames and how many to out_count.
// CH_ERR_MALFORMED: the file is damaged there; nothing it says is to be believed.
CH_CHECKED enum ch_status
symbol_cache_find(struct symbol_cache *cache, uint64_t vaddr,
                  struct symbol_frame frames[SYMBOL_FRAMES_MAX], size_t *out_count);
