// SPDX-License-Identifier: Apache-2.0
//
// The code around a crash in a terminal, what registers point to, and the memory there.
// Part of render.h.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/render/pen.h"

// render_around_write writes all of it, as far as the report has it; what registers
// point to only if registers are shown.
void render_around_write(const struct pen *pen, const json_t *report, bool registers);

// render_around_code writes the code around the crash alone: at most `around`
// instructions on each side of the one that faulted, or with AROUND_ALL all of them,
// and those of the caller.
void render_around_code(const struct pen *pen, const json_t *report, size_t around);
