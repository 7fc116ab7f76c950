// SPDX-License-Identifier: Apache-2.0
//
// The caller's options for a capture, checked and in the unwinder's terms, and the
// visitor that keeps the frames it wants. Every way of capturing uses it.
#pragma once
#include "crashhook/backtrace.h"
#include "unwind/backtrace_limit.h"

struct capture_options {
    enum setting_unwind how;
    uint32_t limit;
    uint32_t top;
    size_t offset;
};

// capture_options_read fills out from the caller's options. CH_ERR_UNSUPPORTED: they
// are invalid.
CH_CHECKED enum ch_status
capture_options_read(const struct crashhook_capture_options *given,
                     struct capture_options *out);

// A capture_frames keeps all frames but the innermost skip ones.
struct capture_frames {
    struct backtrace_limit *kept;
    size_t skip;
};

// capture_frames_begin prepares frames->kept for a walk with these options.
void capture_frames_begin(struct capture_frames *frames,
                          const struct capture_options *options);

// capture_frames_keep is an unwind_frame_fn over struct capture_frames. It ends the
// walk at the first frame found by a stack scan, because this API cannot label such
// frames as guesses.
bool capture_frames_keep(void *frames, const struct unwind_frame *frame,
                         const struct unwind_state *state);
