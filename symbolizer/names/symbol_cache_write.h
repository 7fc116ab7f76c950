// SPDX-License-Identifier: Apache-2.0
//
// Writes a symbol cache: the image is looked up at every address where the result may
// change, and the results are written. So cache and image agree, and no rule of
// symbolization is implemented twice.
#pragma once
#include "base/status.h"
#include "base/text.h"
#include "symbolizer/names/symbol_image.h"

// symbol_cache_write appends the cache of image, of the build id, to out. It reads all
// of the image's debug information. CH_ERR_UNSUPPORTED: the image has none, or parts of
// it are in files that are missing.
CH_CHECKED enum ch_status symbol_cache_write(struct symbol_image *image,
                                             const struct build_id *id,
                                             struct text *out);
