// SPDX-License-Identifier: Apache-2.0
//
// A symbol_cache is everything that symbol_image knows of one build, in one file that
// can be searched without reading DWARF (docs/formats/symbol-cache.md).
//
// The file is mapped and needs no preparation: an address is the index of a block of
// rows, a row and each of its frames are read in place, and only long names are
// unpacked. Each page is verified against its checksum when it is first read, so that
// opening stays fast and damage is still detected. Bytes are read with cursors, and
// references only go backwards. What was found in order once, a page, the names of a
// function or the name of a file, is not checked again.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "symbolizer/cache/symbol_frame.h"
#include "symbolizer/search/debug_search.h"

enum {
    SYMBOL_CACHE_VERSION = 6,
    SYMBOL_CACHE_HEADER_SIZE = 184,
    SYMBOL_CACHE_PAGE = 4096,
    SYMBOL_CACHE_ALIGNMENT = 64, // of each section
    SYMBOL_CACHE_BLOCK_SIZE = 4,
    SYMBOL_CACHE_NODE_SIZE = 16,
    SYMBOL_CACHE_FUNCTION_SIZE = 8,
    SYMBOL_CACHE_DIE_SIZE = 12,
    SYMBOL_CACHE_MAGIC_SIZE = 8,
    SYMBOL_CACHE_CHECKED_FROM = 16, // start of what the header's own checksum covers
};

#define SYMBOL_CACHE_MAGIC "CHSYMS\r\n"

// SYMBOL_CACHE_FILE_MAX limits the file, and thereby what opening allocates.
#define SYMBOL_CACHE_FILE_MAX (1u << 30)

enum symbol_cache_section {
    SYMBOL_CACHE_BLOCKS,       // by address: where its block of rows is
    SYMBOL_CACHE_ROWS,         // node, line, column (row_block.h)
    SYMBOL_CACHE_NODES,        // a frame, and the one that it was inlined into
    SYMBOL_CACHE_FUNCTIONS,    // name and linker's name
    SYMBOL_CACHE_FILES,        // source files, as offsets of their names, and MD5
    SYMBOL_CACHE_NAMES,        // strings with their sizes, long ones packed
    SYMBOL_CACHE_LINKER_NAMES, // NUL-terminated, separate: only JSON needs them
    SYMBOL_CACHE_DIES,         // by address: functions in .debug_info
    SYMBOL_CACHE_SECTIONS,
};

// symbol_cache_node has the bits of a node's first word below its function.
enum symbol_cache_node {
    SYMBOL_CACHE_NODE_INLINED = 1,
    SYMBOL_CACHE_NODE_OF_SOURCE = 2, // the linker's name is not known
    SYMBOL_CACHE_NODE_PARENT = 4,    // there is an enclosing frame, and a call site
    SYMBOL_CACHE_NODE_START = 8,     // start of the function
    SYMBOL_CACHE_NODE_SHIFT = 4,
};

// symbol_cache_place has the bits of a node's last eight bytes: its file, and either
// line and column of the call or the function's entry.
enum symbol_cache_place {
    SYMBOL_CACHE_FILE_BITS = 20,
    SYMBOL_CACHE_LINE_BITS = 28,
    SYMBOL_CACHE_COLUMN_BITS = 16,
};

// SYMBOL_CACHE_NAME_PACKED is the bit of a name's size that says that it is packed.
enum { SYMBOL_CACHE_NAME_PACKED = 1, SYMBOL_CACHE_NAME_SHIFT = 1 };

struct symbol_cache_span {
    uint32_t offset; // in the file
    uint32_t size;
};

struct symbol_cache {
    const uint8_t *bytes;
    size_t size;
    bool mapped; // bytes are our own mapping
    uint64_t base;
    uint64_t text[2];
    size_t data_offset;
    uint32_t page_count;
    uint8_t *checked;     // a bit for each page
    uint8_t *functions;   // a bit for each one whose entry and names were read
    uint8_t *files;       // likewise
    bool no_linker_names; // not needed: avoids faulting in their pages
    char *unpacked;       // the packed names of the last answer
    size_t unpacked_capacity;
    struct symbol_cache_span sections[SYMBOL_CACHE_SECTIONS];
};

// symbol_cache_over makes a cache over the size bytes at bytes, which must outlive it,
// of the build id. CH_ERR_MALFORMED: damaged, or of another build. CH_ERR_UNSUPPORTED:
// of another version.
CH_CHECKED enum ch_status symbol_cache_over(struct symbol_cache *out, const void *bytes,
                                            size_t size, const struct build_id *id);

// symbol_cache_map is symbol_cache_over for the file fd, which may be closed
// afterwards.
CH_CHECKED enum ch_status symbol_cache_map(struct symbol_cache *out, int fd,
                                           const struct build_id *id);

// symbol_cache_deinit unmaps and frees what cache holds; a zeroed one is empty.
void symbol_cache_deinit(struct symbol_cache *cache);

// SYMBOL_CACHE_EXPECTED_MAX is how many addresses can be expected at a time.
enum { SYMBOL_CACHE_EXPECTED_MAX = 16 };

// symbol_cache_expect reports that these addresses are looked up next: what their
// answers are made of is then fetched from memory side by side, not one after the
// other.
void symbol_cache_expect(struct symbol_cache *cache, const uint64_t *vaddrs,
                         size_t count);

// symbol_cache_find writes the frames at vaddr to frames and their number to out_count.
// Their strings hold until the next call.
// CH_ERR_MALFORMED: the file is damaged there, and nothing in it can be trusted.
CH_CHECKED enum ch_status
symbol_cache_find(struct symbol_cache *cache, uint64_t vaddr,
                  struct symbol_frame frames[SYMBOL_FRAMES_MAX], size_t *out_count);

// A symbol_cache_die is where .debug_info has a function.
struct symbol_cache_die {
    uint64_t unit; // offset of its unit's header
    uint64_t die;  // offset of its entry
};

// symbol_cache_find_die gives the function that begins last up to vaddr, whose code may
// end before it. False: none does, or what follows cannot be trusted.
bool symbol_cache_find_die(struct symbol_cache *cache, uint64_t vaddr,
                           struct symbol_cache_die *out);
