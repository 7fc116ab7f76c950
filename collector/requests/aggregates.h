// SPDX-License-Identifier: Apache-2.0
//
// Aggregates over all groups: the number of reports, and the hosts that crash alone.
//
// From 100,000 reports on they are cached, and a thread recomputes them (cache_age.h),
// so that no page waits for it; below that they are computed for each page. Limit:
// eight projects at a time, and all of them together. Users: the overview, lists of
// groups.
#pragma once
#include <pthread.h>

#include "collector/database/cache_age.h"
#include "collector/query/store_values.h"
#include "collector/server/background.h"

enum { AGGREGATES_CACHED = 9, AGGREGATES_HOSTS = 5 };

// aggregate_host is a host with groups that no other has.
struct aggregate_host {
    char name[sizeof(((struct entry *)NULL)->hostname)];
    int64_t groups;
    int64_t reports;
};

struct aggregate_hosts {
    struct aggregate_host list[AGGREGATES_HOSTS];
    size_t count;
};

// project_aggregates are the aggregates of a project.
struct project_aggregates {
    char project[ENTRY_PROJECT_SIZE]; // empty: of all
    struct store_totals totals;
    struct aggregate_hosts hosts;
};

struct aggregates {
    struct store *store;
    int64_t many;         // reports from which on aggregates are cached
    pthread_mutex_t lock; // guards what follows
    struct cache_age ages[AGGREGATES_CACHED];
    struct project_aggregates list[AGGREGATES_CACHED]; // the first is of all
    struct background background;
};

// aggregates_init caches nothing yet; aggregates_deinit ends the thread.
void aggregates_init(struct aggregates *aggregates, struct store *store);
void aggregates_deinit(struct aggregates *aggregates);

// aggregates_start starts the thread.
CH_CHECKED enum ch_status aggregates_start(struct aggregates *aggregates);

// aggregates_renew is a step of it: it recomputes those that are due. One that fails
// stays due, and pages that compute it say why.
void aggregates_renew(struct aggregates *aggregates, int64_t now_ms);

// aggregates_count and aggregates_lone_hosts return cached values, or compute them.
CH_CHECKED enum ch_status aggregates_count(struct aggregates *aggregates,
                                           const char *project,
                                           struct store_totals *out);
CH_CHECKED enum ch_status aggregates_lone_hosts(struct aggregates *aggregates,
                                                const char *project,
                                                struct aggregate_hosts *out);
