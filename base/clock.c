// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

enum { NS_PER_US = 1000, NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

uint64_t clock_now_ns(clockid_t clock)
{
    struct timespec now = { 0 };
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t clock_now_us(clockid_t clock)
{
    return clock_now_ns(clock) / NS_PER_US;
}

uint64_t clock_now_ms(clockid_t clock)
{
    return clock_now_ns(clock) / NS_PER_MS;
}
