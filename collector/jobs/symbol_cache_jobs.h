// SPDX-License-Identifier: Apache-2.0
//
// The thread that keeps debug files in order: it removes what was not used for long and
// what the folder has no room for, and asks debuginfod servers upstream for the builds
// whose names reports lack, each once. What they say is remembered; a server that fails
// is asked again later.
#pragma once
#include "base/status.h"
#include "collector/server/metrics.h"
#include "collector/symbols/symbol_store.h"

struct symbol_cache_jobs;

struct symbol_cache_jobs_options {
    struct store *store;
    struct symbol_store *symbols;
    struct metrics *metrics;
    const char *upstream; // URLs, separated by spaces; NULL: nobody is asked
    void (*complain)(const char *error);
};

CH_CHECKED enum ch_status
symbol_cache_jobs_create(const struct symbol_cache_jobs_options *options,
                         struct symbol_cache_jobs **out);
void symbol_cache_jobs_destroy(struct symbol_cache_jobs *supervisor);
