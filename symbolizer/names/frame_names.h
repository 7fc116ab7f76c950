// SPDX-License-Identifier: Apache-2.0
//
// Names as JSON: what was found at one place, as the members that frames of reports
// have. They are made once for each place and then added to every frame there.
#pragma once
#include <stddef.h>

#include <jansson.h>

#include "base/status.h"
#include "symbolizer/names/symbol_image.h"

// A frame_image is what all frames of one image have in common.
struct frame_image {
    const char *path;
    enum debug_status status;
    const char *home; // masked in source files; NULL: not masked
};

// frame_names_make gives an array with an object for each of the count frames found at
// vaddr, the frame's own unadjusted address; innermost first. If count is 0, there is
// one object, which says why there is no name.
CH_CHECKED enum ch_status frame_names_make(const struct symbol_frame *frames,
                                           size_t count, uint64_t vaddr,
                                           const struct frame_image *image,
                                           json_t **out);

// frame_names_apply adds names to frame, a frame of a report, and appends it to frames,
// after the frames inlined into it.
CH_CHECKED enum ch_status frame_names_apply(const json_t *names, json_t *frame,
                                            json_t *frames);
