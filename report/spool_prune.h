// SPDX-License-Identifier: Apache-2.0
//
// Keeps a spool within CRASHHOOK_SPOOL_MAX: the oldest reports that every target has go
// first, then the oldest others, each of which the caller hears of and the spool counts
// (spool_counts.h). Age alone is a reason to delete what every target has, and nothing
// else: a clock that is set wrong loses no report. One that somebody is working on is
// left alone, and so is the one the caller names. One process prunes at a time: of two
// that count the same reports each would delete its share.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "report/spool.h"

struct spool_caps {
    uint64_t reports;
    uint64_t bytes;
    uint64_t sent_age_s; // 0: any
};

// A spool_dropped_fn hears of a report that is deleted although it was not sent.
typedef void spool_dropped_fn(void *context, const char *id);

// spool_prune deletes what is past the caps; keep_id may be NULL. out_over: reports
// that are being worked on keep it past them.
CH_CHECKED enum ch_status spool_prune(const struct spool *spool, struct spool_caps caps,
                                      const char *keep_id, spool_dropped_fn *dropped,
                                      void *context, bool *out_over);
