// SPDX-License-Identifier: Apache-2.0
//
// The age of a cached value that takes long to compute.
//
// Requests read the cached value. A thread recomputes it before it is too old: every
// ten seconds while it is read, otherwise once a minute. Users: the groups that rise
// (store_query_look.c), aggregates over all groups (aggregates.c).
#pragma once
#include <stdbool.h>
#include <stdint.h>

// cache_age: all zeros is no value yet.
struct cache_age {
    bool cached;
    bool read;       // since it was computed
    int64_t made_ms; // last computation, also where its result was not worth caching
    int64_t read_ms;
};

// cache_age_take returns whether the cached value may be shown, and notes that it was
// read.
bool cache_age_take(struct cache_age *age, int64_t now_ms);

// cache_age_is_due returns whether to recompute it; always: even if nobody read it for
// an hour.
bool cache_age_is_due(const struct cache_age *age, bool always, int64_t now_ms);

// cache_age_renew notes a computation; cached: its result was cached.
void cache_age_renew(struct cache_age *age, bool cached, int64_t now_ms);
