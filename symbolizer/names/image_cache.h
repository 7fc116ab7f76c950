// SPDX-License-Identifier: Apache-2.0
//
// Writes the caches of one image: its names (symbol_cache.h), and its debug information
// if that is compressed (decompressed_debug.h). That takes longer than a caller should
// wait, so it is done in a background process.
#pragma once
#include <stdbool.h>

#include "base/status.h"
#include "base/text.h"
#include "symbolizer/names/symbol_image.h"
#include "symbolizer/search/debug_search.h"

// image_cache_write_names writes the symbol cache of one image in this process.
// CH_ERR_NOT_FOUND: there is one, or another process is writing it. CH_ERR_UNSUPPORTED:
// a cache is not worthwhile.
CH_CHECKED enum ch_status image_cache_write_names(const char *path,
                                                  const struct build_id *id,
                                                  const struct debug_search *search);

// image_cache_write_plain writes the debug information of one image if it is compressed
// and not in the caches yet.
void image_cache_write_plain(const char *path, const struct build_id *id,
                             const struct debug_search *search);

// image_cache_build reads the build ID of the image at path. False: it has none, or is
// no image.
bool image_cache_build(const char *path, struct build_id *out);

// image_cache_begin starts a background process that writes the symbol cache of the
// image at path with that build ID, and returns at once.
void image_cache_begin(const char *path, const struct build_id *id,
                       const struct debug_search *search);

// image_cache_leave returns true in such a process: no one waits for it, it keeps none
// of our files open and runs at the lowest priority.
bool image_cache_leave(void);

// Writes a symbol cache: the image is looked up at every address where the result may
// change, and the results are written. So cache and image agree, and no rule of
// symbolization is implemented twice.

// symbol_cache_write appends the cache of image, of the build id, to out. It reads all
// of the image's debug information. CH_ERR_UNSUPPORTED: the image has none, or parts of
// it are in files that are missing.
CH_CHECKED enum ch_status symbol_cache_write(struct symbol_image *image,
                                             const struct build_id *id,
                                             struct text *out);
