// SPDX-License-Identifier: Apache-2.0
//
// The order in which the reports of a spool are sent.
//
// It is that of their ids, which is that of the crashes, but for reports that failed.
// It only reads state files, without locks. Users: queue.
#pragma once
#include "base/status.h"
#include "report/spool/spool.h"

// queue_order_apply moves reports that failed before after the others: a report that
// makes a server fail must not keep it from all other reports.
CH_CHECKED enum ch_status queue_order_apply(const struct spool *spool,
                                            struct spool_listing *listing);
