// SPDX-License-Identifier: Apache-2.0
//
// When a target that would not take a report is asked again.
//
// A report waits a second, doubled with each failure up to an hour and spread by a
// quarter, or as long as the target asked for. A target in trouble rests as long as the
// report it stumbled over; what it asked for is kept in the spool for other processes.
// User: queue.c.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "report/spool.h"
#include "report/spool_state.h"
#include "upload/shipment.h"
#include "upload/target.h"

// retry_due_time is when the target may be asked to take the report, at least now.
int64_t retry_due_time(const struct target *target, const struct spool_target *waiting,
                       int64_t now);

// retry_is_due: the target waits for the report and may be asked now. any_report: what
// was noted for this report alone does not count.
bool retry_is_due(const struct target *target, const struct spool_target *waiting,
                  bool any_report);

// retry_postpone notes when to ask again, after this report failed or the whole target
// did.
void retry_postpone(struct target *target, struct spool_target *waiting,
                    const struct verdict *verdict);

// retry_keep keeps what the target asked for, for us and for whoever sends next.
CH_CHECKED enum ch_status retry_keep(const struct spool *spool, struct target *target,
                                     const struct verdict *verdict);

// retry_learn learns what the target asked of those who sent before us. insist: reports
// are sent whatever it asked for.
void retry_learn(const struct spool *spool, struct target *target, bool insist);
