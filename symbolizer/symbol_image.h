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
#include "symbolizer/debug_search.h"

// SYMBOL_FRAMES_MAX is how many inlined calls of one address are told apart.
enum { SYMBOL_FRAMES_MAX = 128 };

// A symbol_frame's strings live as long as its image is open.
struct symbol_frame {
    const char *function; // demangled; NULL: not known
    const char *raw_name; // as the linker knows it; NULL: not known
    const char *file;     // NULL: not known
    uint32_t line;        // 0: not known
    uint32_t column;      // 0: not known
    uint64_t entry;       // of the function, not of an inlined call: where it begins,
    uint64_t start;       // and where the part of it begins that has the address
    bool inlined;
    bool of_source; // raw_name is the source's, because no linker's name is known
};

struct symbol_image;

// symbol_image_open finds and opens the files of the image at path, of the build id
// (size 0: not known). names_only leaves inlined calls and source lines out. That
// files are missing or refused is no failure: the image then has no names, and
// symbol_image_status says why. CH_ERR_NO_MEMORY is the only one.
CH_CHECKED enum ch_status symbol_image_open(struct symbol_image **out, const char *path,
                                            const struct build_id *id,
                                            const struct debug_search *search,
                                            bool names_only);

// symbol_image_close closes image and frees it; NULL is fine.
void symbol_image_close(struct symbol_image *image);

// symbol_image_status says what was found of image.
enum debug_status symbol_image_status(const struct symbol_image *image);

// symbol_image_base is the lowest page-aligned address image is linked to: what its
// base in a process corresponds to.
uint64_t symbol_image_base(const struct symbol_image *image);

// symbol_image_find writes the frames at vaddr to frames and returns how many: 0 when
// nothing is known.
size_t symbol_image_find(struct symbol_image *image, uint64_t vaddr,
                         struct symbol_frame frames[SYMBOL_FRAMES_MAX]);
