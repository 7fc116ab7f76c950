// SPDX-License-Identifier: Apache-2.0
//
// A copy of a SQLite file while a connection of this process writes to it. A reading
// transaction that stayed open for a copy would make the log grow, and every look into
// it slower. So the file is copied as it is, what changed meanwhile is copied again
// (sqlite_changes.h), until that is little; this and the log are copied while no commit
// is made, and the copy is of that moment.
//
// Users: store_backup.c.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "collector/database/sql.h"

struct sqlite_copy;

// sqlite_copy_sizes are bytes: of the file, and what is left to copy of it in this
// pass.
struct sqlite_copy_sizes {
    uint64_t all;
    uint64_t left;
};

// sqlite_copy_begin makes the file at path anew and begins; commits are excluded. On
// failure, here and below, error says why.
CH_CHECKED enum ch_status sqlite_copy_begin(struct sql *from, const char *path,
                                            char error[SQL_ERROR_SIZE],
                                            struct sqlite_copy **out);

// sqlite_copy_step copies some megabytes. CH_END: this pass is over.
CH_CHECKED enum ch_status sqlite_copy_step(struct sqlite_copy *copy,
                                           struct sqlite_copy_sizes *out,
                                           char error[SQL_ERROR_SIZE]);

// sqlite_copy_turn begins the next pass, or makes the copy whole if little is left:
// CH_END. Commits are excluded.
CH_CHECKED enum ch_status sqlite_copy_turn(struct sqlite_copy *copy,
                                           char error[SQL_ERROR_SIZE]);

// sqlite_copy_sync waits until what was copied is on disk.
CH_CHECKED enum ch_status sqlite_copy_sync(struct sqlite_copy *copy,
                                           char error[SQL_ERROR_SIZE]);

// sqlite_copy_end frees the copy; its file stays. Commits are excluded. NULL is
// allowed.
void sqlite_copy_end(struct sqlite_copy *copy);
