// SPDX-License-Identifier: Apache-2.0
//
// Background jobs yield to uploads. Such work is done in steps,
// each a transaction, and uploads wait for a step. Users: moves, retention
// and symbolization jobs.
#pragma once
#include <stdbool.h>

#include "collector/store/store.h"

// store_is_busy returns true if reports were stored here a moment ago.
bool store_is_busy(const struct store *store);

// store_rest_ms is how long to rest after a step that took took_ms: while uploads come,
// they have nine tenths of the store.
int store_rest_ms(struct store *store, int64_t took_ms);
