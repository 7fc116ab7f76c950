// SPDX-License-Identifier: Apache-2.0
//
// The samples of a report's heap as a profile of pprof
// (https://github.com/google/pprof/blob/main/proto/profile.proto): estimates of the
// live blocks (inuse_objects) and their bytes (inuse_space), not compressed.
#pragma once
#include <jansson.h>

#include "base/status.h"
#include "base/text.h"

// heap_frame_name appends a frame's function, or where it is.
void heap_frame_name(const json_t *report, const json_t *frame, struct text *out);

// heap_pprof_write appends the profile of a report that has the member `heap`.
CH_CHECKED enum ch_status heap_pprof_write(const json_t *report, double rate,
                                           struct text *out);
