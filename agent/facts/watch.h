// SPDX-License-Identifier: Apache-2.0
//
// The watched objects of a held process or a core, copied with what their pointers lead
// to.
//
// No type is known while the process is held. Thus every aligned word of the copied
// bytes that is the address of readable memory counts as a pointer, breadth first,
// until the watch's limit is reached, which is recorded with the watch. The free phase
// finds out what really is a pointer, and to what.
#pragma once
#include "agent/live/capture.h"
#include "base/text.h"

// WATCH_BYTES_MAX is how much is copied per watch while a process is held only for the
// capture, WATCH_BYTES_HELD_MAX while it is held for the report anyway, or dead.
enum { WATCH_BYTES_MAX = 64 << 10, WATCH_BYTES_HELD_MAX = 4 << 20 };

// watch_copy appends the objects in capture's table, and their memory, to out, a
// held_file. Where no handler gave a table, those that the notes announce are used.
// What cannot be read is among capture's problems.
void watch_copy(struct capture *capture, struct text *out);
