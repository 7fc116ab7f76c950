// SPDX-License-Identifier: Apache-2.0
//
// Reports change groups in steps of one transaction each: how merges and splits of
// groups of any size are done without anybody waiting. store_triage.c begins them.
#pragma once
#include "collector/store_internal.h"

// store_move_step takes one step in the transaction under way, which is alone. out_more
// is false when nothing was left to do.
CH_CHECKED enum ch_status store_move_step(struct sql *sql, bool *out_more);

// store_move_begin begins a move and takes its first step, which does all of a small
// one. An empty fingerprint: all reports of source go to target, and source ends. Else
// those of the fingerprint go to their own group. No other move may be under way.
CH_CHECKED enum ch_status store_move_begin(struct sql *sql, int64_t source,
                                           int64_t target, const char *fingerprint);
