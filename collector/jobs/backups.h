// SPDX-License-Identifier: Apache-2.0
//
// The thread that copies the store's SQLite file when it is asked to, into a file that
// whoever runs the collector named (store_backup.h).
// Users: /api/v1/backup, /metrics.
#pragma once
#include "collector/server/metrics.h"
#include "collector/store/store.h"

struct backups;

enum backups_state { BACKUPS_NONE, BACKUPS_RUNNING, BACKUPS_DONE, BACKUPS_FAILED };

// backups_status is how the last backup goes, or went; times are 0 where there is none.
struct backups_status {
    enum backups_state state;
    int64_t began_ms;
    int64_t ended_ms;
    uint64_t bytes; // of the store's file
    uint64_t copied;
    char error[STORE_ERROR_SIZE]; // of one that failed
};

typedef void backups_complain_fn(const char *error);

struct backups_options {
    struct store *store;
    const char *file; // where a backup is to stand
    struct metrics *metrics;
    backups_complain_fn *complain; // of one that failed
};

// backups_create starts the thread; what the options name must outlive it.
CH_CHECKED enum ch_status backups_create(const struct backups_options *options,
                                         struct backups **out);

// backups_destroy gives up a backup that is being made, and ends the thread. NULL is
// allowed.
void backups_destroy(struct backups *backups);

const char *backups_file(const struct backups *backups);

// backups_begin asks for one. False: one is being made.
bool backups_begin(struct backups *backups);

void backups_status_of(struct backups *backups, struct backups_status *out);
