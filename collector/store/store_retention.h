// SPDX-License-Identifier: Apache-2.0
//
// What of a store is kept: for how long and how many, of all projects and of single
// ones. Users: the store, retention, readers of settings.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "collector/entry/entry.h"

enum { STORE_KEEP_AS_OTHERS = -1 };

// store_project_retention is what is kept of one project: 0 keeps everything,
// STORE_KEEP_AS_OTHERS what is kept of projects without a word of their own.
struct store_project_retention {
    char project[ENTRY_PROJECT_SIZE];
    int64_t age_ms;
    int64_t per_group;
};

// store_retention is what is kept; 0 keeps everything.
struct store_retention {
    int64_t age_ms;    // since a report was received
    int64_t per_group; // how many of the latest crashes
    // size_bytes is what the store may take on disk: the SQLite file, or in PostgreSQL
    // the partitions of bodies, of which whole weeks go, but not the last two.
    int64_t size_bytes;
    const struct store_project_retention *projects;
    size_t project_count;
};
