// SPDX-License-Identifier: Apache-2.0
//
// The groups that rise, which takes a look at the days of all groups.
//
// A store of 10,000 groups or more keeps their list, for searches and the overview; in
// a smaller one each search looks. User: aggregates.c.
#pragma once
#include "collector/store/store.h"

// store_renew_rising finds them again, if that is due.
CH_CHECKED enum ch_status store_renew_rising(struct store *store, int64_t now_ms);
