// SPDX-License-Identifier: Apache-2.0
//
// Reports change groups in steps of one transaction each, so that merges and splits of
// groups of any size block nobody for long. store_triage.c begins them.
#pragma once
#include "collector/store/store_internal.h"

// store_move_begin begins a move, in a transaction that excludes other writers. With an
// empty fingerprint all reports of source go to target, and source ends. Otherwise the
// reports of the fingerprint go to their own group. No other move may be in progress.
CH_CHECKED enum ch_status store_move_begin(struct sql *sql, int64_t source,
                                           int64_t target, const char *fingerprint);

// store_move_end queues the end of a group without reports: what it counts of reports
// that were removed goes to target.
void store_move_end(struct sql *sql, int64_t source, int64_t target);
