// SPDX-License-Identifier: Apache-2.0
//
// The threads other than the crashed one, with equal stacks folded into one group:
// equal means the same functions and places, or the same addresses where there are no
// names. Part of render.h.
#pragma once
#include <jansson.h>

#include "cli/render/render_frames.h"

// render_threads_write writes the groups in the order of their first threads. brief:
// one line each, with the innermost frame of the program's own.
void render_threads_write(const struct render_frames *frames, bool brief);

// render_threads_append_name appends a thread's id and name, escaped.
void render_threads_append_name(const json_t *thread, struct text *out);

// render_goroutines_write writes the goroutines of a program in Go, those with one
// stack together; brief: a line for each.
void render_goroutines_write(const struct render_frames *frames, bool brief);
