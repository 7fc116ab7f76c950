// SPDX-License-Identifier: Apache-2.0
//
// The lines of source around a frame, where the file lies on this machine: what makes a
// crash plain at a glance. Part of render.h.
#pragma once
#include <jansson.h>

#include "cli/pen.h"

// render_source_write writes a few lines around the frame's line with that one marked,
// or nothing where the file cannot be read or is no text of reasonable size.
void render_source_write(const struct pen *pen, const json_t *frame);
