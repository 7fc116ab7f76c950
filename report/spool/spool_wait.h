// SPDX-License-Identifier: Apache-2.0
//
// A wait: not before `until`, set at `noted`, both by the wall clock, because a wait
// must survive the process that received it and a restart of the machine.
//
// Clocks are set. After one was set back, `noted` is in the future: the wait then
// counts as over, since nobody knows what is left of it. A clock that was set forward
// ends a wait early. Either costs one request too many; no jump makes a report wait for
// ever.
#pragma once
#include <stdbool.h>
#include <stdint.h>

// SPOOL_WAIT_MAX_S is the longest wait that a target may ask for.
enum { SPOOL_WAIT_MAX_S = 24 * 3600 };

struct spool_wait {
    int64_t noted; // seconds since 1970; 0: not known
    int64_t until; // 0: now
};

// spool_wait_over is true if the wait has ended.
static inline bool spool_wait_over(const struct spool_wait *wait, int64_t now)
{
    enum { SLACK_S = 60 }; // for a clock that is adjusted, not set
    return wait->until <= now || wait->noted > now + SLACK_S ||
           wait->until - now > SPOOL_WAIT_MAX_S + SLACK_S;
}
