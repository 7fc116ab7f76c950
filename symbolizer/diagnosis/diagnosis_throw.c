// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "report/value/report.h"
#include "symbolizer/diagnosis/diagnosis.h"

// is_culprit returns true if the frame is of the program, and not of a library whose
// functions throw or abort for it.
static bool is_culprit(const json_t *report, const json_t *frame)
{
    const char *function = report_string(frame, "function");
    return function != NULL && function[0] != 0 && strncmp(function, "std::", 5) != 0 &&
           !report_frame_is_system(report, frame);
}

bool diagnosis_note_culprit(const json_t *report, const json_t *frames, size_t index,
                            json_t *to, const char *key)
{
    static const char *const keys[] = { "function", "file", "line" };
    for (size_t i = index; i < json_array_size(frames) && i < DIAGNOSIS_FRAMES; i++) {
        const json_t *frame = json_array_get(frames, i);
        if (!is_culprit(report, frame))
            continue;
        json_t *place = json_object();
        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
            json_t *value = json_object_get(frame, keys[k]);
            if (value != NULL)
                (void)json_object_set(place, keys[k], value);
        }
        (void)json_object_set_new(to, key, place);
        return true;
    }
    return false;
}

bool diagnosis_throw(json_t *report, json_t *crash)
{
    json_t *exception = json_object_get(crash, "exception");
    return diagnosis_note_culprit(report, report_frames(exception), 0, exception,
                                  "thrown_in");
}
