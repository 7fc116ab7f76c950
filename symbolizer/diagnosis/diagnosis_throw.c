// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "report/report.h"
#include "symbolizer/diagnosis/diagnosis.h"

// is_thrower is whether the frame is of the program, and not of a library whose
// functions throw for it.
static bool is_thrower(const json_t *report, const json_t *frame)
{
    const char *function = report_string(frame, "function");
    return function != NULL && strncmp(function, "std::", 5) != 0 &&
           !report_frame_is_system(report, frame);
}

bool diagnosis_throw(json_t *report, json_t *crash)
{
    static const char *const keys[] = { "function", "file", "line" };
    enum { FRAMES_MAX = 64 };
    json_t *exception = json_object_get(crash, "exception");
    const json_t *frames = report_frames(exception);
    for (size_t i = 0; i < json_array_size(frames) && i < FRAMES_MAX; i++) {
        const json_t *frame = json_array_get(frames, i);
        if (!is_thrower(report, frame))
            continue;
        json_t *place = json_object();
        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
            json_t *value = json_object_get(frame, keys[k]);
            if (value != NULL)
                (void)json_object_set(place, keys[k], value);
        }
        (void)json_object_set_new(exception, "thrown_in", place);
        return true;
    }
    return false;
}
