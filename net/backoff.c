// SPDX-License-Identifier: Apache-2.0
#include "net/backoff.h"

#include <sys/random.h>
#include <sys/types.h>
#include <time.h>

#include "report/spool/spool_wait.h"

// A wait ends a second after the last that it has to last, and a fraction of one later:
// WAIT_MAX_S leaves room for both.
enum {
    BACKOFF_FIRST_S = 1,
    BACKOFF_MAX_S = 3600,
    WAIT_MAX_S = SPOOL_WAIT_MAX_S - 2,
};

// backoff_chance is a number from 0 to most.
static int64_t backoff_chance(int64_t most)
{
    uint32_t random = 0;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
        random = (uint32_t)time(NULL);
    return (int64_t)(random % (uint64_t)(most + 1));
}

int backoff_fraction_ms(void)
{
    return (int)backoff_chance(999);
}

static int64_t backoff_after(uint32_t failures)
{
    int64_t wait = BACKOFF_FIRST_S;
    for (uint32_t i = 1; i < failures && wait < BACKOFF_MAX_S; i++)
        wait *= 2;
    if (wait > BACKOFF_MAX_S)
        wait = BACKOFF_MAX_S;
    return wait - wait / 4 + backoff_chance(wait / 2);
}

int64_t backoff_wait_s(int64_t asked_s, uint32_t failures)
{
    int64_t wait = asked_s < 0 ? backoff_after(failures) : asked_s;
    if (asked_s >= 0 && asked_s < WAIT_MAX_S)
        wait += backoff_chance((asked_s + 1) / 2);
    if (wait < 1)
        return 1;
    return wait < WAIT_MAX_S ? wait : WAIT_MAX_S;
}
