// SPDX-License-Identifier: Apache-2.0
//
// The flight record: what each thread called last, innermost indented furthest, with
// times before the crash. Part of render.h.
#pragma once
#include <jansson.h>
#include <stddef.h>

#include "cli/pen.h"

// render_flight_write writes the last events of each thread: `most` of the crashed
// thread's, a quarter of that of the others'. A report without a flight record gives
// nothing.
void render_flight_write(const struct pen *pen, const json_t *report, size_t most);
