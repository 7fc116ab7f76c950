// SPDX-License-Identifier: Apache-2.0
//
// Sums over all groups: how many reports there are, and which hosts crash alone.
//
// Of 100,000 reports and more they are kept, and a thread sums them again (kept.h), so
// that no page waits for it; of fewer they are summed when they are asked for. Limit:
// eight projects at a time, and all of them together. Users: the overview, lists of
// groups.
#pragma once
#include <pthread.h>

#include "collector/database/kept.h"
#include "collector/query/store_values.h"
#include "collector/server/background.h"

enum { SUMS_KEPT = 9, SUMS_HOSTS = 5 };

// sums_host is a host with groups that no other has.
struct sums_host {
    char name[sizeof(((struct entry *)NULL)->hostname)];
    int64_t groups;
    int64_t reports;
};

struct sums_hosts {
    struct sums_host list[SUMS_HOSTS];
    size_t count;
};

// project_sums are the sums of a project.
struct project_sums {
    char project[ENTRY_PROJECT_SIZE]; // empty: of all
    struct store_totals totals;
    struct sums_hosts hosts;
};

struct sums {
    struct store *store;
    int64_t many;         // reports from which on sums are kept
    pthread_mutex_t lock; // guards what follows
    struct kept kept[SUMS_KEPT];
    struct project_sums list[SUMS_KEPT]; // the first is of all
    struct background background;
};

// sums_init keeps nothing yet; sums_deinit ends the thread.
void sums_init(struct sums *sums, struct store *store);
void sums_deinit(struct sums *sums);

// sums_start starts the thread.
CH_CHECKED enum ch_status sums_start(struct sums *sums);

// sums_renew is a step of it: it sums what is due. Where that fails, it stays due, and
// pages that sum say why.
void sums_renew(struct sums *sums, int64_t now_ms);

// sums_count and sums_lone_hosts give what is kept, or sum it.
CH_CHECKED enum ch_status sums_count(struct sums *sums, const char *project,
                                     struct store_totals *out);
CH_CHECKED enum ch_status sums_lone_hosts(struct sums *sums, const char *project,
                                          struct sums_hosts *out);
