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
#include "symbolizer/names/report_images.h"

// REPORT_CBF_FRAMES_MAX bounds the frames that CBF may expand to.
enum { REPORT_CBF_FRAMES_MAX = 1 << 20 };

// A report_place is where a frame's name is looked up.
struct report_place {
    uint32_t image;
    uint64_t offset; // from the image's base; of a return address: into the call
};

// report_frames_of gives the frames of a backtrace, which may be those in the report;
// the caller drops them. CH_ERR_NOT_FOUND: it has neither frames nor CBF that can be
// read.
CH_CHECKED enum ch_status report_frames_of(const json_t *backtrace,
                                           json_t **out_frames);

// report_frame_prepare gives frame without old names and with its image, for the caller
// to drop: itself, where it needs nothing, or a copy. CH_ERR_NOT_FOUND: it was such a
// name, that of an inlined call.
CH_CHECKED enum ch_status report_frame_prepare(json_t *frame,
                                               const struct report_images *images,
                                               json_t **out_bare);

// report_frame_place stores where frame's name is to be looked up. CH_ERR_NOT_FOUND:
// it has no address, as frames that stand for left out ones.
CH_CHECKED enum ch_status report_frame_place(const json_t *frame,
                                             struct report_place *out);
