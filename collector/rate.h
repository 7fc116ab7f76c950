// SPDX-License-Identifier: Apache-2.0
//
// How many reports each token may send: a bucket a token, which fills evenly, so that a
// sender in a loop is told when to come back and the others notice nothing.
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "collector/access.h"

struct rate {
    int64_t count; // reports in period_ms; 0: no limit
    int64_t period_ms;
    pthread_mutex_t lock; // guards the buckets
    struct {
        int64_t at_ms;
        double left;
    } buckets[ACCESS_TOKENS + 1]; // the last: who shows no token
};

// rate_init reads `600/1m` (s, m, h, d) into out; NULL is no limit. CH_ERR_MALFORMED:
// it is not such a text.
CH_CHECKED enum ch_status rate_init(const char *text, struct rate *out);
void rate_deinit(struct rate *rate);

// rate_take takes one from a token's bucket at a moment, or gives in how many seconds
// there will be one; 0: taken. token is at most ACCESS_TOKENS.
unsigned rate_take(struct rate *rate, size_t token, int64_t now_ms);
