// SPDX-License-Identifier: Apache-2.0
//
// A copy of the store's SQLite file while reports come. It is made in steps under
// another name (`.part`), and gets its own once it is whole and on disk: until then the
// copy of before stands there. Uploads wait for the last step only (sqlite_copy.h).
// Users: backups (collector/server).
#pragma once
#include "collector/store/store.h"

struct store_backup;

struct store_backup_progress {
    uint64_t bytes; // of the store's file
    uint64_t left;  // of these, to be copied in this pass
    int rest_ms;    // before the next step
};

// store_backup_can returns true if the store is a SQLite file that is written here.
bool store_backup_can(const struct store *store);

// store_backup_begin begins a copy that is to stand at path, a string that the caller
// keeps. On failure, here and below, error says why.
CH_CHECKED enum ch_status store_backup_begin(struct store *store, const char *path,
                                             char error[STORE_ERROR_SIZE],
                                             struct store_backup **out);

// store_backup_step copies some more. CH_END: the copy is whole, and stands at its
// path.
CH_CHECKED enum ch_status store_backup_step(struct store_backup *backup,
                                            struct store_backup_progress *out,
                                            char error[STORE_ERROR_SIZE]);

// store_backup_end frees the backup, and removes what it wrote unless it is whole. NULL
// is allowed.
void store_backup_end(struct store_backup *backup);
