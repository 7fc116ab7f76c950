// SPDX-License-Identifier: Apache-2.0
//
// A wait: not before `until`, said at `noted`, both by the clock on the wall, because a
// wait outlives the process that was told of it and a restart of the machine.
//
// Clocks are set. One that was put back leaves `noted` in the future: the wait is over
// then, since nobody can say what is left of it. One that was put forward ends a wait
// early. Both cost one question too many; no jump makes a report wait for ever.
#pragma once
#include <stdbool.h>
#include <stdint.h>

// SPOOL_WAIT_MAX_S is the longest wait anybody may ask for.
enum { SPOOL_WAIT_MAX_S = 24 * 3600 };

struct spool_wait {
    int64_t noted; // seconds since 1970; 0: not known
    int64_t until; // 0: now
};

// spool_wait_over is true when nobody has to wait any more.
static inline bool spool_wait_over(const struct spool_wait *wait, int64_t now)
{
    enum { SLACK_S = 60 }; // of a clock that is nudged, not set
    return wait->until <= now || wait->noted > now + SLACK_S ||
           wait->until - now > SPOOL_WAIT_MAX_S + SLACK_S;
}
