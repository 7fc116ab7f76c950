// SPDX-License-Identifier: Apache-2.0
//
// What a spool only counts: crashes of a program past its rate (CRASHHOOK_RATE), and
// reports that were deleted unsent to keep the spool within its caps. The counts are
// kept in `counts.json` of the spool and travel with the next report that is sent, as
// its member `spool`: {"held_back":N,"dropped":N}.
//
// Every function takes the counts' own lock for as long as it runs (flock on
// `counts.lock`), so several crashes at once count right. A damaged file starts anew.
// Users: upload, cli finish.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "report/spool.h"

struct spool_rate {
    uint64_t count; // crashes of one program
    uint64_t ms;    // in this time
};

// spool_counts_admit counts a crash of executable at unix_ms and says whether it is
// within the rate; one that is not is added to what was held back.
CH_CHECKED enum ch_status spool_counts_admit(const struct spool *spool,
                                             const char *executable, uint64_t unix_ms,
                                             struct spool_rate rate,
                                             bool *out_admitted);

// spool_counts_add_dropped counts reports deleted unsent.
CH_CHECKED enum ch_status spool_counts_add_dropped(const struct spool *spool,
                                                   uint64_t count);

// spool_counts_take moves the counts that concern executable into the report, and
// clears them; it says whether there were any. The counts are gone from the spool even
// if the report is not sent: it carries them from now on.
CH_CHECKED enum ch_status spool_counts_take(const struct spool *spool,
                                            const char *executable, json_t *report,
                                            bool *out_changed);
