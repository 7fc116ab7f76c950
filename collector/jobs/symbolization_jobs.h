// SPDX-License-Identifier: Apache-2.0
//
// Naming jobs take the reports that wait in the store's queue, name them with the debug
// files that were uploaded, and have the store move them to the groups that the names
// lead to.
//
// A few threads each hand a batch of reports to a child process with limits on memory
// and time, so that no report and no debug file harms the collector, and no request
// waits. What a child says is checked. A batch that fails is tried again report by
// report; a report that fails three times stays as it is.
#pragma once
#include "collector/server/background.h"
#include "collector/server/metrics.h"
#include "collector/store/store.h"

enum { SYMBOLIZATION_WORKERS_MAX = BACKGROUND_THREADS_MAX };

typedef void symbolization_jobs_complain_fn(const char *error);

struct symbolization_jobs;
struct symbol_store;

// symbolization_jobs_options is what the jobs work with; it is copied, what it refers
// to must outlive the jobs.
struct symbolization_jobs_options {
    struct store *store;
    struct symbol_store *symbols;
    struct metrics *metrics;
    symbolization_jobs_complain_fn *complain;
    pthread_mutex_t *large; // held while a large report is named
    unsigned workers;       // how many child processes there are at once
};

// symbolization_jobs_create starts the threads.
CH_CHECKED enum ch_status
symbolization_jobs_create(const struct symbolization_jobs_options *options,
                          struct symbolization_jobs **out);

// symbolization_jobs_destroy ends them after their current batch; NULL is allowed.
void symbolization_jobs_destroy(struct symbolization_jobs *jobs);
