// SPDX-License-Identifier: Apache-2.0
//
// A store whose database may be gone: whether it can be written to, and how not to wait
// for it any more.
#pragma once
#include <stdbool.h>

#include "collector/store/store.h"

// store_check takes part in writing without changing anything. On failure error says
// why no report could be stored now.
CH_CHECKED enum ch_status store_check(struct store *store,
                                      char error[STORE_ERROR_SIZE]);

// store_give_up ends the waits of all calls, on whichever thread, and lets no other
// transaction begin: the collector has to stop.
void store_give_up(struct store *store);

// store_gave_up returns true if that was done: what fails from then on is no trouble.
bool store_gave_up(const struct store *store);
