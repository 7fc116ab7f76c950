// SPDX-License-Identifier: Apache-2.0
//
// The first report of a build finds no caches: its names and its arguments both need
// the same debug information decompressed. So while one guarded child looks up names,
// another decompresses for the arguments (decompressed_debug.h), which takes no extra
// time on a machine with a second processor.
#pragma once
#include "symbolizer/search/guarded_child.h"
#include "symbolizer/symbolization.h"

// decompress_ahead_begin starts that child if an image of symbolization, which must
// outlive the child, has no cache yet and has frames whose arguments will be looked up.
// False: there is nothing to do.
bool decompress_ahead_begin(struct symbolization *symbolization, int64_t deadline_ms,
                            struct guarded_child *out);

// decompress_ahead_end waits until the child is done, or until the deadline.
void decompress_ahead_end(struct guarded_child *child, int64_t deadline_ms);
