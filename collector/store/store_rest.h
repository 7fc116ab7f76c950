// SPDX-License-Identifier: Apache-2.0
//
// How work in the background leaves the store to uploads. Such work is done in steps,
// each a transaction, and uploads wait for a step. Users: moves and retention.
#pragma once
#include "collector/store/store.h"

// store_rest_ms is how long to rest after a step that took took_ms: while uploads come,
// they have four fifths of the store.
int store_rest_ms(struct store *store, int64_t took_ms);
