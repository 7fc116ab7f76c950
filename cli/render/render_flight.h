// SPDX-License-Identifier: Apache-2.0
//
// The flight record: what each thread called last, deeper calls indented further, with
// times before the crash. Part of render.h.
#pragma once
#include <jansson.h>
#include <stddef.h>

#include "cli/render/pen.h"

// render_flight_write writes the last events of each thread: `most` for the crashed
// thread, a quarter of that for the others. For a report without a flight record it
// writes nothing.
void render_flight_write(const struct pen *pen, const json_t *report, size_t most);
