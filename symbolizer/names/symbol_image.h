// SPDX-License-Identifier: Apache-2.0
//
// A symbol_image names the code of one image: a vaddr becomes the frames there,
// innermost first, inlined ones before the function that contains them.
//
// It is opened once for any number of addresses. Debug information is indexed as far as
// the addresses need it; where there is none, ELF symbols give only function names.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "symbolizer/cache/symbol_frame.h"
#include "symbolizer/names/symbol_table.h"
#include "symbolizer/names/unit_index.h"
#include "symbolizer/search/debug_search.h"

// Where the entries of functions are in .debug_info (DWARF's DIEs), by address: who
// knows that needs not read a unit, of which a large C++ library's have tens of
// thousands of entries, to get at one function.

// A unit_die is a function whose code begins, or goes on, at an address.
struct unit_die {
    uint64_t start;
    uint64_t unit; // offset of its unit's header in .debug_info
    uint64_t die;  // offset of its entry there
};

struct unit_dies {
    struct unit_die *items; // by start
    size_t count;
    size_t capacity;
};

// unit_dies_deinit frees what dies hold; zeroed ones are empty.
void unit_dies_deinit(struct unit_dies *dies);

struct symbol_image;

// symbol_image_open finds and opens the files of the image at path with that build ID
// (size 0: not known), or its cache if search names a cache folder that has one; what
// search refers to must outlive image. names_only leaves out inlined calls and source
// lines. Missing or refused files are no failure: the image then has no names, and
// symbol_image_status finds out why. The only failure is CH_ERR_NO_MEMORY.
CH_CHECKED enum ch_status symbol_image_open(struct symbol_image **out, const char *path,
                                            const struct build_id *id,
                                            const struct debug_search *search,
                                            bool names_only);

// symbol_image_detach closes the descriptors of the image's files, which stay mapped:
// for a process that keeps image open for long, and may close all descriptors that it
// does not know. Files that refer to others by relative paths do not find those later.
void symbol_image_detach(struct symbol_image *image);

// symbol_image_close closes image and frees it; NULL is allowed.
void symbol_image_close(struct symbol_image *image);

// symbol_image_build stores the build ID of image, of size 0 if it has none.
void symbol_image_build(const struct symbol_image *image, struct build_id *out);

// symbol_image_is_cached returns true if image uses a cache, without any debug file
// opened.
bool symbol_image_is_cached(const struct symbol_image *image);

// symbol_image_status returns what was found of image.
enum debug_status symbol_image_status(const struct symbol_image *image);

// symbol_image_why returns why symbol_image_find found no name for vaddr.
enum debug_status symbol_image_why(struct symbol_image *image, uint64_t vaddr);

// symbol_image_base is the lowest page-aligned vaddr of image, which corresponds to its
// base in a process.
uint64_t symbol_image_base(const struct symbol_image *image);

// symbol_image_text stores the first and one past the last vaddr of image's code.
void symbol_image_text(const struct symbol_image *image, uint64_t out[2]);

// symbol_image_edges adds, in ascending order, every address at which the result of
// symbol_image_find may change; it reads all of the debug information.
// CH_ERR_UNSUPPORTED: there is none, parts of it are in missing files, or image uses a
// cache.
CH_CHECKED enum ch_status symbol_image_edges(struct symbol_image *image,
                                             struct address_list *out);

// symbol_image_dies lists the entries of functions, after symbol_image_edges has read
// all of them; the caller frees them.
CH_CHECKED enum ch_status symbol_image_dies(const struct symbol_image *image,
                                            struct unit_dies *out);

// symbol_image_expect reports that these addresses, at most SYMBOL_CACHE_EXPECTED_MAX,
// are looked up next, which makes them faster where image uses a cache.
void symbol_image_expect(struct symbol_image *image, const uint64_t *vaddrs,
                         size_t count);

// symbol_image_find writes the frames at vaddr to frames and returns their number: 0 if
// nothing is known. Where image uses a cache, their strings hold until the next call.
size_t symbol_image_find(struct symbol_image *image, uint64_t vaddr,
                         struct symbol_frame frames[SYMBOL_FRAMES_MAX]);
