// SPDX-License-Identifier: Apache-2.0
//
// Who waits for whom, in the terminal: a line for each thread that sleeps on a lock.
//
// At most 32 lines are written; the rest is counted. Users: render.c.
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "cli/render/pen.h"

// render_waits_write writes a section with a line for each thread that waits for a
// lock, or nothing if none does; owned: only waits for what is known to be held.
void render_waits_write(const struct pen *pen, const json_t *report, bool owned);
