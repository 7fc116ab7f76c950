// SPDX-License-Identifier: Apache-2.0
#include "collector/server/rate.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 1000000000, PERIODS_MAX = 10000 };

static int64_t unit_ms(char unit)
{
    switch (unit) {
    case 's':
        return 1000;
    case 'm':
        return 60000;
    case 'h':
        return 3600000;
    case 'd':
        return 86400000;
    default:
        return 0;
    }
}

enum ch_status rate_parse(const char *text, struct rate_limit *out)
{
    char *end = NULL;
    if (!isdigit((unsigned char)text[0]))
        return CH_ERR_MALFORMED;
    long long count = strtoll(text, &end, 10);
    if (count < 1 || count > COUNT_MAX || end[0] != '/')
        return CH_ERR_MALFORMED;
    const char *period = end + 1;
    long long periods = 1;
    if (isdigit((unsigned char)period[0]))
        periods = strtoll(period, &end, 10);
    else
        end++;
    if (periods < 1 || periods > PERIODS_MAX || unit_ms(end[0]) == 0 || end[1] != 0)
        return CH_ERR_MALFORMED;
    *out =
        (struct rate_limit){ .count = count, .period_ms = periods * unit_ms(end[0]) };
    return CH_OK;
}

enum ch_status rate_init(const char *text, struct rate *out)
{
    struct rate_limit limit = { 0 };
    enum ch_status status = text != NULL ? rate_parse(text, &limit) : CH_OK;
    if (status != CH_OK)
        return status;
    // A bucket that was never used is full: it has refilled since 1970.
    memset(out, 0, sizeof(*out));
    out->limit = limit;
    pthread_mutex_init(&out->lock, NULL);
    return CH_OK;
}

void rate_deinit(struct rate *rate)
{
    pthread_mutex_destroy(&rate->lock);
}

unsigned rate_take(struct rate *rate, size_t sender, int64_t now_ms)
{
    return rate_take_of(rate, sender, &rate->limit, now_ms);
}

unsigned rate_take_of(struct rate *rate, size_t sender, const struct rate_limit *limit,
                      int64_t now_ms)
{
    if (limit->count == 0)
        return 0;
    double per_ms = (double)limit->count / (double)limit->period_ms;
    unsigned wait_s = 0;
    pthread_mutex_lock(&rate->lock);
    double *left = &rate->buckets[sender].left;
    int64_t *at_ms = &rate->buckets[sender].at_ms;
    if (now_ms > *at_ms) // a clock that was set back adds nothing
        *left += (double)(now_ms - *at_ms) * per_ms;
    if (*left > (double)limit->count)
        *left = (double)limit->count;
    *at_ms = now_ms;
    if (*left >= 1)
        *left -= 1;
    else
        wait_s = (unsigned)((1 - *left) / per_ms / 1000) + 1;
    pthread_mutex_unlock(&rate->lock);
    return wait_s;
}
