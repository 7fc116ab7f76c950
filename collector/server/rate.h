// SPDX-License-Identifier: Apache-2.0
//
// How many reports each token and each project may send: a bucket for each. It refills
// evenly, so a sender in a loop learns when to try again and other senders are not
// affected.
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { RATE_SENDERS = 17500 };

struct rate_limit {
    int64_t count; // reports in period_ms; 0: no limit
    int64_t period_ms;
};

struct rate {
    struct rate_limit limit; // of those that have none of their own
    pthread_mutex_t lock;    // guards the buckets
    struct {
        int64_t at_ms;
        double left;
    } buckets[RATE_SENDERS];
};

// rate_parse parses `600/1m` (s, m, h, d). CH_ERR_MALFORMED: text has another form.
CH_CHECKED enum ch_status rate_parse(const char *text, struct rate_limit *out);

// rate_init parses `600/1m` (s, m, h, d) into out; NULL is no limit. CH_ERR_MALFORMED:
// text has another form.
CH_CHECKED enum ch_status rate_init(const char *text, struct rate *out);
void rate_deinit(struct rate *rate);

// rate_take takes one report from a sender's bucket and returns 0, or returns in how
// many seconds there will be one. sender is less than RATE_SENDERS.
unsigned rate_take(struct rate *rate, size_t sender, int64_t now_ms);

// rate_take_of does so where the sender has a limit of its own.
unsigned rate_take_of(struct rate *rate, size_t sender, const struct rate_limit *limit,
                      int64_t now_ms);
