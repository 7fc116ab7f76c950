// SPDX-License-Identifier: Apache-2.0
//
// A symbol_image names the code of one image: an address as linked becomes the frames
// that were there, innermost first, the inlined ones before the function they are in.
//
// It is opened once for any number of addresses. Debug information is indexed as far
// as addresses ask for it; where there is none, ELF symbols name functions alone.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "symbolizer/names/address_list.h"
#include "symbolizer/names/debug_search.h"
#include "symbolizer/names/symbol_frame.h"

struct symbol_image;

// symbol_image_open finds and opens the files of the image at path, of the build id
// (size 0: not known), or its cache where search names a folder of caches and there is
// one; what search refers to must outlive image. names_only leaves inlined calls and
// source lines out. That files are missing or refused is no failure: the image then has
// no names, and symbol_image_status says why. CH_ERR_NO_MEMORY is the only one.
CH_CHECKED enum ch_status symbol_image_open(struct symbol_image **out, const char *path,
                                            const struct build_id *id,
                                            const struct debug_search *search,
                                            bool names_only);

// symbol_image_close closes image and frees it; NULL is fine.
void symbol_image_close(struct symbol_image *image);

// symbol_image_build stores the build ID of image: of size 0 when it has none.
void symbol_image_build(const struct symbol_image *image, struct build_id *out);

// symbol_image_is_cached is true when a cache answers for image and no debug file was
// opened.
bool symbol_image_is_cached(const struct symbol_image *image);

// symbol_image_status says what was found of image.
enum debug_status symbol_image_status(const struct symbol_image *image);

// symbol_image_why says why image has no name for vaddr, for which
// symbol_image_find found none.
enum debug_status symbol_image_why(struct symbol_image *image, uint64_t vaddr);

// symbol_image_base is the lowest page-aligned address image is linked to: what its
// base in a process corresponds to.
uint64_t symbol_image_base(const struct symbol_image *image);

// symbol_image_text stores the first and one past the last address of image's code.
void symbol_image_text(const struct symbol_image *image, uint64_t out[2]);

// symbol_image_edges adds every address at which what symbol_image_find says may
// change, in ascending order: all of the debug information is read for it.
// CH_ERR_UNSUPPORTED: there is none, parts of it are in files that are not there, or a
// cache answers for image.
CH_CHECKED enum ch_status symbol_image_edges(struct symbol_image *image,
                                             struct address_list *out);

// symbol_image_find writes the frames at vaddr to frames and returns how many: 0 when
// nothing is known.
size_t symbol_image_find(struct symbol_image *image, uint64_t vaddr,
                         struct symbol_frame frames[SYMBOL_FRAMES_MAX]);
