// SPDX-License-Identifier: Apache-2.0
//
// The releases that reports name, for people to choose from.
//
// Limit: those seen last, RELEASES_KEPT of them. Of many reports they are summed once
// in ten seconds. Users: the overview, `is:new`.
#pragma once
#include <pthread.h>

#include "collector/store/store.h"

enum { RELEASES_KEPT = 24 };

// releases holds the releases seen last, in the order in which people number them, the
// newest first; those without an order keep the one they were seen in.
struct releases {
    struct {
        char name[sizeof(((struct entry *)NULL)->release)];
        int64_t count; // of reports
    } list[RELEASES_KEPT];
    size_t count;
};

// release_cache holds what was read last, of one project.
struct release_cache {
    pthread_mutex_t lock; // guards what follows
    char project[ENTRY_PROJECT_SIZE];
    struct releases releases;
    int64_t until_ms; // 0: nothing was read
};

// releases_read reads those of a project (empty: of all) from the store, or from the
// cache.
CH_CHECKED enum ch_status releases_read(struct release_cache *cache,
                                        struct store *store, const char *project,
                                        struct releases *out);

// releases_newest is the newest of them, or empty.
CH_CHECKED enum ch_status
releases_newest(struct release_cache *cache, struct store *store, const char *project,
                char out[sizeof(((struct entry *)NULL)->release)]);
