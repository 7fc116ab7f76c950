// SPDX-License-Identifier: Apache-2.0
//
// The source lines around a frame, if the file is on this machine: they often explain a
// crash at a glance. Part of render.h.
//
// Lines of a file that changed since the build are others than those that ran. DWARF 5
// can have an MD5 of the file; else it must not be newer than the program, if that is
// here and of the same build, and not newer than the crash.
#pragma once
#include <jansson.h>

#include "cli/pen.h"

// render_source_write writes a few lines around the line of a frame of report. The line
// is marked if the file is the one that was built, and else there is a warning. Nothing
// is written if the file cannot be read, is not text, or is too large.
void render_source_write(const struct pen *pen, const json_t *report,
                         const json_t *frame);
