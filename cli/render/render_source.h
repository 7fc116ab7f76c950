// SPDX-License-Identifier: Apache-2.0
//
// The source lines around a frame (report/value/frame_source.h) in a terminal. Part of
// render.h.
#pragma once
#include <jansson.h>

#include "cli/render/pen.h"

// render_source_write writes a few lines around the line of a frame of report. The line
// is marked if the file is the one that was built, and else there is a warning. Nothing
// is written if the file cannot be read, is not text, or is too large.
void render_source_write(const struct pen *pen, const json_t *report,
                         const json_t *frame);
