// SPDX-License-Identifier: Apache-2.0
//
// The frames of a report, made ready for naming: names of an earlier run are gone,
// frames that only CBF has are spelled out, every frame that has an address knows its
// image. What is left is one list of places to look up.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/status.h"
#include "symbolizer/frame_memo.h"
#include "symbolizer/names/report_images.h"

// REPORT_FRAMES_MAX bounds the frames that CBF may expand to.
enum { REPORT_FRAMES_MAX = 1 << 20 };

// A report_place is where a frame's name is looked up.
struct report_place {
    uint32_t image;
    uint64_t offset; // from the image's base; of a return address: into the call
};

// report_frames_prepare gives the frames of one backtrace, ready, as a new array; the
// backtrace stays as it is. Frames that need nothing are in both. memo, for all
// backtraces of a report, saves work on frames that were seen.
// CH_ERR_NOT_FOUND: it has neither frames nor CBF that can be read.
CH_CHECKED enum ch_status report_frames_prepare(const json_t *backtrace,
                                                const struct report_images *images,
                                                struct frame_memo *memo,
                                                json_t **out_frames);

// report_frame_place stores where frame's name is to be looked up. CH_ERR_NOT_FOUND:
// it has no address, as frames that stand for left out ones.
CH_CHECKED enum ch_status report_frame_place(const json_t *frame,
                                             struct report_place *out);
