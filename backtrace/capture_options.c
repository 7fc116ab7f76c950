// SPDX-License-Identifier: Apache-2.0
#include "backtrace/capture_options.h"

static const enum setting_unwind algorithms[] = {
    [CRASHHOOK_UNWIND_AUTO] = SETTING_UNWIND_AUTO,
    [CRASHHOOK_UNWIND_FAST] = SETTING_UNWIND_FAST,
    [CRASHHOOK_UNWIND_PRECISE] = SETTING_UNWIND_PRECISE,
};

static uint32_t bounded_limit(size_t count)
{
    return count < CRASHHOOK_FRAMES_MAX ? (uint32_t)count : CRASHHOOK_FRAMES_MAX;
}

enum ch_status capture_options_read(const struct crashhook_capture_options *given,
                                    struct capture_options *out)
{
    static const struct crashhook_capture_options defaults = CRASHHOOK_CAPTURE_DEFAULTS;
    if (given == NULL)
        given = &defaults;
    if (given->size != sizeof(*given) || given->limit == 0 ||
        (unsigned)given->algorithm > CRASHHOOK_UNWIND_PRECISE)
        return CH_ERR_UNSUPPORTED;
    *out = (struct capture_options){ .how = algorithms[given->algorithm],
                                     .limit = given->limit == CRASHHOOK_NO_LIMIT
                                                  ? SETTING_NO_LIMIT
                                                  : bounded_limit(given->limit),
                                     .top = bounded_limit(given->top),
                                     .offset = given->offset };
    return CH_OK;
}

void capture_frames_begin(struct capture_frames *frames,
                          const struct capture_options *options)
{
    // The memory of the previous walk is reused.
    struct backtrace_limit begun;
    backtrace_limit_init(&begun, options->limit, options->top);
    begun.frames = frames->kept->frames;
    begun.capacity = frames->kept->capacity;
    *frames->kept = begun;
}

bool capture_frames_keep(void *context, const struct unwind_frame *frame,
                         const struct unwind_state *state)
{
    (void)state;
    struct capture_frames *frames = context;
    if (frame->trust == UNWIND_TRUST_SCAN)
        return false;
    if (frames->skip != 0) {
        frames->skip--;
        return true;
    }
    return backtrace_limit_add(frames->kept, frame);
}
