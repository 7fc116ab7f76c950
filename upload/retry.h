// SPDX-License-Identifier: Apache-2.0
//
// When a target that did not take a report is tried again.
//
// A report waits as net/backoff.h says: after each failure longer, or as long as the
// target asked for. A target that is down rests as long as the report that failed; what
// it asked for is kept in the spool for other processes. User: queue.c.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "report/spool/spool.h"
#include "report/spool/spool_state.h"
#include "upload/shipment.h"
#include "upload/target.h"

// retry_due_time is when the target may get the report; never before now.
int64_t retry_due_time(const struct target *target, const struct spool_target *waiting,
                       int64_t now);

// retry_is_due is true if the target waits for the report and may get it now.
// any_report: waits of this report alone are ignored.
bool retry_is_due(const struct target *target, const struct spool_target *waiting,
                  bool any_report);

// retry_postpone records when to try again, after this report failed or the whole
// target did.
void retry_postpone(struct target *target, struct spool_target *waiting,
                    const struct verdict *verdict);

// retry_keep records what the target asked for, for this process and for later senders.
CH_CHECKED enum ch_status retry_keep(const struct spool *spool, struct target *target,
                                     const struct verdict *verdict);

// retry_learn reads what the target asked of earlier senders. insist: reports are sent
// whatever it asked for.
void retry_learn(const struct spool *spool, struct target *target, bool insist);
