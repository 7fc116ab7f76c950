// SPDX-License-Identifier: Apache-2.0
//
// Names as JSON: what was found at one place becomes the keys that frames get, in the
// words of reports. One place is worked out once and then put into every frame there.
#pragma once
#include <stddef.h>

#include <jansson.h>

#include "base/status.h"
#include "symbolizer/names/symbol_image.h"

// What all frames of one image have in common.
struct frame_image {
    const char *path;
    enum debug_status status;
    const char *home; // masked in source files; NULL: nothing is
};

// frame_names_make gives an array with an object for each of the count frames found at
// vaddr, which is the frame's own, unadjusted; innermost first. With count 0 there is
// one object, which says why there is no name.
CH_CHECKED enum ch_status frame_names_make(const struct symbol_frame *frames,
                                           size_t count, uint64_t vaddr,
                                           const struct frame_image *image,
                                           json_t **out);

// frame_names_apply puts names into frame, a frame of a report, and appends it to
// frames, with the frames inlined into it before it.
CH_CHECKED enum ch_status frame_names_apply(const json_t *names, json_t *frame,
                                            json_t *frames);
