// SPDX-License-Identifier: Apache-2.0
//
// What whoever runs a collector watches of its store: how large it is, how old, and
// what it was sent by project. User: /metrics.
#pragma once
#include "collector/store/store.h"

// store_figures is a moment's figures.
struct store_figures {
    int64_t bytes;     // that it takes on disk: the file, or the database
    int64_t oldest_ms; // when its oldest report came; 0: there is none
    int64_t moves;     // merges and splits that are under way
};

// store_project_figures is what came of a project, and how much of it is kept.
struct store_project_figures {
    const char *project;
    int64_t groups;
    int64_t received;
    int64_t kept;
};

typedef void store_project_fn(void *context, const struct store_project_figures *row);

CH_CHECKED enum ch_status store_figures_of(struct store *store,
                                           struct store_figures *out);

// store_list_project_figures visits every project, by name.
CH_CHECKED enum ch_status
store_list_project_figures(struct store *store, store_project_fn *visit, void *context);
