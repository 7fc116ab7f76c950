// SPDX-License-Identifier: Apache-2.0
//
// Prepares a report's frames for symbolization: removes names of an earlier run,
// decodes frames that are only in CBF, and sets the image of every frame with an
// address. Then one list of places can be looked up.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/status.h"
#include "symbolizer/search/report_images.h"

// REPORT_CBF_FRAMES_MAX limits the number of frames that CBF may expand to.
enum { REPORT_CBF_FRAMES_MAX = 1 << 20 };

// A report_place is where a frame's name is looked up.
struct report_place {
    uint32_t image;
    uint64_t offset; // from the image's base; of a return address: in the call
};

// report_frames_of gives the frames of a backtrace, which may be the report's own; the
// caller drops the reference. CH_ERR_NOT_FOUND: it has neither frames nor readable CBF.
CH_CHECKED enum ch_status report_frames_of(const json_t *backtrace,
                                           json_t **out_frames);

// report_frame_prepare gives frame without old names and with its image: itself if it
// needs no change, else a copy. The caller drops the reference. CH_ERR_NOT_FOUND: the
// frame was an inlined call that an earlier run added, or has a name that no file has.
CH_CHECKED enum ch_status report_frame_prepare(json_t *frame,
                                               const struct report_images *images,
                                               json_t **out_bare);

// report_frame_place stores where frame's name is to be looked up. CH_ERR_NOT_FOUND: it
// has no address, like a frame that stands for omitted ones.
CH_CHECKED enum ch_status report_frame_place(const json_t *frame,
                                             struct report_place *out);
