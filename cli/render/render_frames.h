// SPDX-License-Identifier: Apache-2.0
//
// One stack as lines of text: numbered frames, marks for inlined calls, places, what
// was left out, and why the stack ends where it does. Part of render.h.
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "cli/render/pen.h"

// render_name is how a function is named: as in the report, without what matters only
// to compilers, by its qualified name alone (report/summary/readable_name.h), or as
// linkers do.
enum render_name { NAME_WHOLE, NAME_READABLE, NAME_SHORT, NAME_LINKER };

struct render_frames {
    const struct pen *pen;
    const json_t *report;
    bool addresses;    // also write address, image and how the frame was found
    bool linker_names; // write NAME_LINKER
};

// render_frames_write writes the frames of thread.
void render_frames_write(const struct render_frames *frames, const json_t *thread);

// render_frames_place is the frame to look at first: the innermost one of the program's
// own, otherwise the innermost; NULL: there is none.
const json_t *render_frames_place(const json_t *report, const json_t *thread);

// render_frames_append_name appends the frame's function, or its address and image,
// escaped.
void render_frames_append_name(const json_t *report, const json_t *frame,
                               enum render_name form, struct text *out);

// render_frames_append_line appends file:line:column, escaped, or nothing if the file
// is not known. short_path omits the folders.
void render_frames_append_line(const json_t *frame, bool short_path, struct text *out);

// The threads other than the crashed one, with equal stacks folded into one group:
// equal means the same functions and places, or the same addresses where there are no
// names.

// render_threads_write writes the groups in the order of their first threads. brief:
// one line each, with the innermost frame of the program's own.
void render_threads_write(const struct render_frames *frames, bool brief);

// render_threads_append_name appends a thread's id and name, escaped.
void render_threads_append_name(const json_t *thread, struct text *out);

// render_goroutines_write writes the goroutines of a program in Go, those with one
// stack together; brief: a line for each.
void render_goroutines_write(const struct render_frames *frames, bool brief);
