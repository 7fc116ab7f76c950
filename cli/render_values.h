// SPDX-License-Identifier: Apache-2.0
//
// Values of a report's objects for reading: a member a line, what a pointer leads to
// indented below it. Values come from the process that crashed, and reports from
// anywhere: depth and lines have a limit.
#pragma once
#include <jansson.h>
#include <stddef.h>

#include "cli/pen.h"

// render_values_watches writes the watched objects, each in at most lines_max lines;
// nothing where the report has none.
void render_values_watches(const struct pen *pen, const json_t *report,
                           size_t lines_max);

// render_values_append_arguments appends a frame's arguments in one line: `count = 3,
// text = 0x55d0 "word", size = ?`. Nothing where it has none.
void render_values_append_arguments(const json_t *frame, struct text *out);

// render_values_append_inline appends a value in one line: scalars as they are,
// pointers as their address, anything larger as {...}.
void render_values_append_inline(const json_t *value, struct text *out);
