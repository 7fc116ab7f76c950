// SPDX-License-Identifier: Apache-2.0
//
// Writing the caches of one image: its names (symbol_cache.h), and its debug
// information where that is compressed (plain_debug.h). It takes longer than an answer
// may wait for, so it is done in the background, in a process of its own.
#pragma once
#include <stdbool.h>

#include "base/status.h"
#include "symbolizer/names/debug_search.h"

// image_cache_write_names writes the symbol cache of one image here and now.
// CH_ERR_NOT_FOUND: there is one, or somebody else is at it. CH_ERR_UNSUPPORTED: it is
// not worth one.
CH_CHECKED enum ch_status image_cache_write_names(const char *path,
                                                  const struct build_id *id,
                                                  const struct debug_search *search);

// image_cache_write_plain writes the debug information of one image where it is
// compressed and the caches do not have it.
void image_cache_write_plain(const char *path, const struct build_id *id,
                             const struct debug_search *search);

// image_cache_begin has a process in the background write the symbol cache of the image
// at path, of the build id, and returns at once.
void image_cache_begin(const char *path, const struct build_id *id,
                       const struct debug_search *search);

// image_cache_leave returns true in such a process: nobody waits for it, it holds
// nothing of ours open and yields to everybody else.
bool image_cache_leave(void);
