// SPDX-License-Identifier: Apache-2.0
//
// The values of a report's objects as text: one member per line, what a pointer points
// to indented below it. Values come from the process that crashed, and reports from
// anywhere: depth and lines are limited.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/render/pen.h"

// render_values_watches writes the watched objects, each in at most lines_max lines, or
// nothing if the report has none.
void render_values_watches(const struct pen *pen, const json_t *report,
                           size_t lines_max);

// render_values_append_arguments appends a frame's arguments in one line: `count = 3,
// text = 0x55d0 "word", size = ? (the compiler left it out)`. It appends nothing if the
// frame has none.
void render_values_append_arguments(const json_t *frame, struct text *out);

// render_values_append_unknown appends the local variables of a frame that have no
// value, by why: `a, b: the compiler left it out; c: its register was overwritten`.
void render_values_append_unknown(const json_t *frame, struct text *out);

// render_values_next_variable appends the next variable of a list from *at on that
// has a value, in the same form, and passes over it. NULL: there are no more, or
// enough were written.
const json_t *render_values_next_variable(const json_t *list, size_t *at,
                                          struct text *out);

// The code around a crash, what registers point to, and the memory there.

// render_around_write writes all of it, as far as the report has it; what registers
// point to only if registers are shown.
void render_around_write(const struct pen *pen, const json_t *report, bool registers);

// render_around_code writes the code around the crash alone: at most `around`
// instructions on each side of the one that faulted, or with AROUND_ALL all of them,
// and those of the caller.
void render_around_code(const struct pen *pen, const json_t *report, size_t around);
