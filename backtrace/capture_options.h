// SPDX-License-Identifier: Apache-2.0
//
// What a caller asks of a capture, checked and in the unwinder's terms, and the visitor
// that keeps the frames it wants; used by every way to capture.
#pragma once
#include "crashhook/backtrace.h"
#include "unwind/backtrace_limit.h"

struct capture_options {
    enum setting_unwind how;
    uint32_t limit;
    uint32_t top;
    size_t offset;
};

// capture_options_read fills out from what the caller gave. CH_ERR_UNSUPPORTED: it
// cannot be understood.
CH_CHECKED enum ch_status
capture_options_read(const struct crashhook_capture_options *given,
                     struct capture_options *out);

// A capture_frames keeps frames but the first skip ones.
struct capture_frames {
    struct backtrace_limit *kept;
    size_t skip;
};

// capture_frames_begin prepares frames->kept for a walk with these options.
void capture_frames_begin(struct capture_frames *frames,
                          const struct capture_options *options);

// capture_frames_keep is an unwind_frame_fn over struct capture_frames. It ends the
// walk where nothing but a guess would go on: the frames of this API have no label for
// that.
bool capture_frames_keep(void *frames, const struct unwind_frame *frame,
                         const struct unwind_state *state);
