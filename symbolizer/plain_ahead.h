// SPDX-License-Identifier: Apache-2.0
//
// The first report of a build finds no caches: its names and its arguments both wait
// for the same debug information to be decompressed. So while one guarded child finds
// names, another decompresses for the arguments (plain_debug.h), as a machine with a
// second processor has it for nothing.
#pragma once
#include "symbolizer/names/guarded_child.h"
#include "symbolizer/naming.h"

// plain_ahead_begin starts that child where an image of naming, which must outlive it,
// is new to the caches and has frames whose arguments will be looked for. False: there
// is nothing to do.
bool plain_ahead_begin(struct naming *naming, int64_t deadline_ms,
                       struct guarded_child *out);

// plain_ahead_end waits until it is done, or until the deadline.
void plain_ahead_end(struct guarded_child *child, int64_t deadline_ms);
