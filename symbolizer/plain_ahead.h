// SPDX-License-Identifier: Apache-2.0
//
// The first report of a build finds no caches: its names and its arguments both need
// the same debug information decompressed. So while one guarded child looks up names,
// another decompresses for the arguments (plain_debug.h), which takes no extra time on
// a machine with a second processor.
#pragma once
#include "symbolizer/naming.h"
#include "symbolizer/search/guarded_child.h"

// plain_ahead_begin starts that child if an image of naming, which must outlive the
// child, has no cache yet and has frames whose arguments will be looked up. False:
// there is nothing to do.
bool plain_ahead_begin(struct naming *naming, int64_t deadline_ms,
                       struct guarded_child *out);

// plain_ahead_end waits until the child is done, or until the deadline.
void plain_ahead_end(struct guarded_child *child, int64_t deadline_ms);
