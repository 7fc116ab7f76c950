// SPDX-License-Identifier: Apache-2.0
//
// The source lines around a frame, if the file is on this machine: they often explain a
// crash at a glance. Part of render.h.
#pragma once
#include <jansson.h>

#include "cli/pen.h"

// render_source_write writes a few lines around the frame's line, which is marked;
// nothing if the file cannot be read, is not text, or is too large.
void render_source_write(const struct pen *pen, const json_t *frame);
