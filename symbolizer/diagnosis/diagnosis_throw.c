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

void diagnosis_note_place(json_t *to, const char *key, const json_t *frame)
{
    json_t *place = json_pack(
        "{s:O*, s:O*, s:O*}", "function", json_object_get(frame, "function"), "file",
        json_object_get(frame, "file"), "line", json_object_get(frame, "line"));
    (void)json_object_set_new(to, key, place);
}

bool diagnosis_note_culprit(const json_t *report, const json_t *frames, size_t index,
                            json_t *to, const char *key)
{
    for (size_t i = index; i < json_array_size(frames) && i < DIAGNOSIS_FRAMES; i++) {
        const json_t *frame = json_array_get(frames, i);
        if (!is_culprit(report, frame))
            continue;
        diagnosis_note_place(to, key, frame);
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
