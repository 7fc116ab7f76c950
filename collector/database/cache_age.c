// SPDX-License-Identifier: Apache-2.0
#include "collector/database/cache_age.h"

enum { READ_MS = 10000, IDLE_MS = 60000, OLDEST_MS = 120000, WANTED_MS = 3600000 };

// is_older also says so where the clock was set back.
static bool is_older(int64_t since_ms, int64_t now_ms, int64_t age_ms)
{
    return now_ms < since_ms || now_ms - since_ms >= age_ms;
}

bool cache_age_take(struct cache_age *age, int64_t now_ms)
{
    if (!age->cached || is_older(age->made_ms, now_ms, OLDEST_MS))
        return false;
    age->read = true;
    age->read_ms = now_ms;
    return true;
}

bool cache_age_is_due(const struct cache_age *age, bool always, int64_t now_ms)
{
    if (age->read && is_older(age->made_ms, now_ms, READ_MS))
        return true;
    return is_older(age->made_ms, now_ms, IDLE_MS) &&
           (always || !is_older(age->read_ms, now_ms, WANTED_MS));
}

void cache_age_renew(struct cache_age *age, bool cached, int64_t now_ms)
{
    age->cached = cached;
    age->read = false;
    age->made_ms = now_ms;
}
