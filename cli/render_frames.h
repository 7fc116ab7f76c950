// SPDX-License-Identifier: Apache-2.0
//
// One stack as lines of text: numbered frames, inline marks, places, what was left out,
// and why the stack ends where it does. Part of render.h.
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "cli/pen.h"

// How a function is named: as the report has it, without what only compilers want to
// know, or by its qualified name alone (report/readable_name.h).
enum render_name { NAME_WHOLE, NAME_READABLE, NAME_SHORT };

struct render_frames {
    const struct pen *pen;
    const json_t *report;
    bool addresses; // with address, image and how the frame was found
};

// render_frames_write writes the frames of thread.
void render_frames_write(const struct render_frames *frames, const json_t *thread);

// render_frames_place is the frame that people should look at first: the innermost one
// of the program's own, else the innermost; NULL: there is none.
const json_t *render_frames_place(const json_t *report, const json_t *thread);

// render_frames_append_name appends the frame's function, or its address and image,
// escaped.
void render_frames_append_name(const json_t *report, const json_t *frame,
                               enum render_name form, struct text *out);

// render_frames_append_line appends file:line:column, escaped; nothing where no file is
// known. base_name leaves the folders out.
void render_frames_append_line(const json_t *frame, bool base_name, struct text *out);
