// SPDX-License-Identifier: Apache-2.0
//
// The releases that reports name, for people to choose from.
//
// Limit: those seen last, RELEASES_KEPT of them. User: sums.c.
#pragma once
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

// releases_read reads those of a project (empty: of all) from the store.
CH_CHECKED enum ch_status releases_read(struct store *store, const char *project,
                                        struct releases *out);
