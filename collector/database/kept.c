// SPDX-License-Identifier: Apache-2.0
#include "collector/database/kept.h"

enum { ASKED_MS = 10000, IDLE_MS = 60000, OLDEST_MS = 120000, WANTED_MS = 3600000 };

// is_older also says so where the clock was set back.
static bool is_older(int64_t since_ms, int64_t now_ms, int64_t age_ms)
{
    return now_ms < since_ms || now_ms - since_ms >= age_ms;
}

bool kept_take(struct kept *kept, int64_t now_ms)
{
    if (!kept->there || is_older(kept->made_ms, now_ms, OLDEST_MS))
        return false;
    kept->asked = true;
    kept->asked_ms = now_ms;
    return true;
}

bool kept_is_due(const struct kept *kept, bool always, int64_t now_ms)
{
    if (kept->asked && is_older(kept->made_ms, now_ms, ASKED_MS))
        return true;
    return is_older(kept->made_ms, now_ms, IDLE_MS) &&
           (always || !is_older(kept->asked_ms, now_ms, WANTED_MS));
}

void kept_renew(struct kept *kept, bool there, int64_t now_ms)
{
    kept->there = there;
    kept->asked = false;
    kept->made_ms = now_ms;
}
