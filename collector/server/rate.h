// SPDX-License-Identifier: Apache-2.0
//
// How many reports each token may send: one token bucket per access token. It refills
// evenly, so a sender in a loop learns when to try again and other senders are not
// affected.
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "collector/server/access.h"

struct rate {
    int64_t count; // reports in period_ms; 0: no limit
    int64_t period_ms;
    pthread_mutex_t lock; // guards the buckets
    struct {
        int64_t at_ms;
        double left;
    } buckets[ACCESS_TOKENS + 1]; // the last is for requests without a token
};

// rate_parse parses `600/1m` (s, m, h, d). CH_ERR_MALFORMED: text has another form.
CH_CHECKED enum ch_status rate_parse(const char *text, int64_t *out_count,
                                     int64_t *out_ms);

// rate_init parses `600/1m` (s, m, h, d) into out; NULL is no limit. CH_ERR_MALFORMED:
// text has another form.
CH_CHECKED enum ch_status rate_init(const char *text, struct rate *out);
void rate_deinit(struct rate *rate);

// rate_take takes one report from a token's bucket and returns 0, or returns in how
// many seconds there will be one. token is at most ACCESS_TOKENS.
unsigned rate_take(struct rate *rate, size_t token, int64_t now_ms);
