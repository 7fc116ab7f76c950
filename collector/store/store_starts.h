// SPDX-License-Identifier: Apache-2.0
//
// Counted starts and clean ends of programs, by release, host and day, and the sessions
// that crashed: those of reports, each once. What has neither an end nor a report is
// unknown: it may live, or have been killed. An empty project is all of them.
// Users: api_starts.c, page_starts.c; retention.c forgets.
#pragma once
#include "collector/store/store.h"

// store_start_batch is what one spool counted of a release on a day. An id counts once.
struct store_start_batch {
    const char *project; // empty: none
    const char *id;
    const char *release;
    const char *host;
    int64_t day; // since 1970
    int64_t starts;
    int64_t ends;
};

// store_start_row is the sum of a release on a host, or of a day.
struct store_start_row {
    const char *release;
    const char *host;
    int64_t day; // since 1970, where the sum is of one
    int64_t starts;
    int64_t ends;
    int64_t crashes;
};

typedef void store_start_fn(void *context, const struct store_start_row *row);

// store_add_starts adds a batch; out_new is false if it was there already.
CH_CHECKED enum ch_status store_add_starts(struct store *store,
                                           const struct store_start_batch *batch,
                                           bool *out_new, char error[STORE_ERROR_SIZE]);

// STORE_START_DAYS is how many days before today sums are of.
enum { STORE_START_DAYS = 30 };

// store_list_starts visits the sums of releases, or of one unless that is NULL, on
// hosts, those with most starts first.
CH_CHECKED enum ch_status store_list_starts(struct store *store, const char *project,
                                            const char *release, store_start_fn *visit,
                                            void *context);

// store_list_release_starts visits the sums of releases on all hosts, as of host "".
CH_CHECKED enum ch_status store_list_release_starts(struct store *store,
                                                    const char *project,
                                                    store_start_fn *visit,
                                                    void *context);

// store_list_start_days visits the sums of the days of a release; empty: of all.
CH_CHECKED enum ch_status store_list_start_days(struct store *store,
                                                const char *project,
                                                const char *release,
                                                store_start_fn *visit, void *context);

// store_forget_starts takes a step of removing what no sum has any more; out_more is
// true if that may not have been all.
CH_CHECKED enum ch_status store_forget_starts(struct store *store, bool *out_more,
                                              char error[STORE_ERROR_SIZE]);
