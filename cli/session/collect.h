// SPDX-License-Identifier: Apache-2.0
//
// Moves reports that programs could not leave in their spool into the spool of this
// session: from the drop folder, which only root can read, and from the folders in /tmp
// that belong to one user each (report/spool/spool.h).
//
// Whatever is there was made by strangers. Only regular files with a single link are
// taken, and only under the names of reports and records; a file belongs to its owner
// in the file system, whatever it says; the number and size of an owner's files per
// hour are limited; and each is read by a child process that is not root, is confined,
// and returns a report that it parsed and wrote anew. Files of a report that another
// process works on are left for the next time. Users: list, show, upload, run.
#pragma once
#include <stdbool.h>

#include "cli/session/session.h"

// collect_waits returns true if collect_take would find any folder to look into.
bool collect_waits(const struct session *session);

// collect_take moves the reports if the session's spool can be opened, is ours, and is
// the user's default spool.
void collect_take(const struct session *session);

// collect_take_since takes what programs that were to use the session's spool,
// whichever that is, left since_ms after 1970 or later. It returns how many reports are
// still being finished.
size_t collect_take_since(const struct session *session, uint64_t since_ms);
