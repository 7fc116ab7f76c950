// SPDX-License-Identifier: Apache-2.0
//
// Keeps a spool within CRASHHOOK_SPOOL_MAX: the oldest reports that every target has
// are deleted first, then the oldest others, each of which is passed to the caller and
// counted by the spool (spool_counts.h). By age alone only reports that every target
// has are deleted, so a clock that is wrong loses no report. A report that a process
// works on is kept, and so is the one that the caller names. Only one process prunes at
// a time: two processes that count the same reports would each delete their share.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "report/spool/spool.h"

struct spool_caps {
    uint64_t reports;
    uint64_t bytes;
    uint64_t sent_age_s; // 0: no limit
};

// spool_dropped_fn is called for a report that is deleted although it was not sent.
typedef void spool_dropped_fn(void *context, const char *id);

// spool_prune deletes what exceeds the limits; keep_id may be NULL. out_over: the
// limits stay exceeded because reports are being worked on.
CH_CHECKED enum ch_status spool_prune(const struct spool *spool, struct spool_caps caps,
                                      const char *keep_id, spool_dropped_fn *dropped,
                                      void *context, bool *out_over);
