// SPDX-License-Identifier: Apache-2.0
//
// Moves reports that programs could not leave in their spool into the one of this
// session: from the drop folder, which root alone can read, and from the folders below
// /tmp that belong to one user each (report/spool_places.h).
//
// Whatever lies there was made by strangers. Only plain files with one link are taken,
// under the names of reports and records; a file is its owner's whatever it says; so
// many of an owner within an hour, and no more; and it is read by a child process that
// is not root, is confined, and gives back a report that was parsed and written anew.
// The files of a report that somebody works on are left for the next time. Users: list,
// show, upload, run.
#pragma once
#include <stdbool.h>

#include "cli/session.h"

// collect_waits is whether collect_take would look into any folder that is there.
bool collect_waits(const struct session *session);

// collect_take does so where the session's spool is open, is ours, and is the one that
// the user has without asking for another.
void collect_take(const struct session *session);

// collect_take_since takes what was left since_ms after 1970 or later by programs that
// were to use the session's spool, whichever that is. It returns how many reports are
// still being finished.
size_t collect_take_since(const struct session *session, uint64_t since_ms);
