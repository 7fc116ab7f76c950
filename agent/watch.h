// SPDX-License-Identifier: Apache-2.0
//
// The watched objects of a held process or a core, copied with what their pointers lead
// to.
//
// No type is known while the process is held. So every aligned word of what was copied
// that is the address of readable memory counts as a pointer, breadth first, until the
// limit of a watch is reached: that is said with the watch. What is a pointer, and to
// what, is found out in the free phase.
#pragma once
#include "agent/capture.h"
#include "base/text.h"

// WATCH_BYTES_MAX is how much of a watch is copied while the process is held no longer
// than that takes, WATCH_BYTES_HELD_MAX where it is held for the report anyway, or
// dead.
enum { WATCH_BYTES_MAX = 64 << 10, WATCH_BYTES_HELD_MAX = 4 << 20 };

// watch_copy appends the objects that the table of capture lists, and their memory, to
// out, a held_file; where no handler has told of a table, those that notes tell of.
// What cannot be had is among capture's problems.
void watch_copy(struct capture *capture, struct text *out);
