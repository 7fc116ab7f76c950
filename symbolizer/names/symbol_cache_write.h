// SPDX-License-Identifier: Apache-2.0
//
// Writing a symbol cache: an image is asked at every address where its answer may
// change, and what it says is what the cache says. So the two agree because the one is
// the other's answers, and no rule of naming is written twice.
#pragma once
#include "base/status.h"
#include "base/text.h"
#include "symbolizer/names/symbol_image.h"

// symbol_cache_write appends the cache of image, of the build id, to out. It reads all
// of the image's debug information. CH_ERR_UNSUPPORTED: the image has none, or parts of
// it are in files that are not there.
CH_CHECKED enum ch_status symbol_cache_write(struct symbol_image *image,
                                             const struct build_id *id,
                                             struct text *out);
