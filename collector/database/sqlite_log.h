// SPDX-License-Identifier: Apache-2.0
//
// What was committed to a SQLite file is in a log beside it (`-wal`) until a checkpoint
// copies it into the file. A thread with a connection of its own does that here, while
// the writer goes on, and not before the log is long: a page that many commits changed
// is copied once, and nobody waits for the file to be synced. The log alone is what
// makes a commit durable.
//
// A log is written anew from its beginning only after a commit that found all of it
// copied. So when the thread is done, the writer copies the little that came since.
// What a reader that stayed for long was in the way of is left to the thread, however
// long the log is by then; only of a log that grows faster than the thread copies it is
// the rest left to the writer. Users: the driver (sql_sqlite.c).
#pragma once
#include <sqlite3.h>

#include "base/status.h"

enum { SQLITE_LOG_PAGES = 16384 }; // of 4 KB: from how many on a log is long

struct sqlite_changes;
struct sqlite_log;

// sqlite_log_create begins to watch the log of the file at path, which writer commits
// to: it is long from that many pages on.
CH_CHECKED enum ch_status sqlite_log_create(sqlite3 *writer, const char *path,
                                            int pages, struct sqlite_log **out);

// sqlite_log_follow tells of what is in the log now, and then of each commit until it
// is called with NULL. Commits are excluded meanwhile.
void sqlite_log_follow(struct sqlite_log *log, struct sqlite_changes *changes);

// sqlite_log_destroy has to be called before writer is closed; NULL is allowed.
void sqlite_log_destroy(struct sqlite_log *log);
