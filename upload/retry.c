// SPDX-License-Identifier: Apache-2.0
#include "upload/retry.h"

#include <sys/random.h>
#include <time.h>

#include "report/spool_waits.h"

// A wait ends a second after the last that it has to last, and a fraction of one later:
// WAIT_MAX_S leaves room for both.
enum {
    BACKOFF_FIRST_S = 1,
    BACKOFF_MAX_S = 3600,
    WAIT_MAX_S = SPOOL_WAIT_MAX_S - 2,
};

// retry_chance is a number from 0 to most.
static int64_t retry_chance(int64_t most)
{
    uint32_t random = 0;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
        random = (uint32_t)time(NULL);
    return (int64_t)(random % (uint64_t)(most + 1));
}

int retry_fraction_ms(void)
{
    return (int)retry_chance(999);
}

static int64_t backoff_s(uint32_t failures)
{
    int64_t wait = BACKOFF_FIRST_S;
    for (uint32_t i = 1; i < failures && wait < BACKOFF_MAX_S; i++)
        wait *= 2;
    if (wait > BACKOFF_MAX_S)
        wait = BACKOFF_MAX_S;
    return wait - wait / 4 + retry_chance(wait / 2);
}

int64_t retry_wait_s(int64_t asked_s, uint32_t failures)
{
    int64_t wait = asked_s < 0 ? backoff_s(failures) : asked_s;
    if (asked_s >= 0 && asked_s < WAIT_MAX_S)
        wait += retry_chance((asked_s + 1) / 2);
    if (wait < 1)
        return 1;
    return wait < WAIT_MAX_S ? wait : WAIT_MAX_S;
}

int64_t retry_due_time(const struct target *target, const struct spool_target *waiting,
                       int64_t now)
{
    int64_t due = now;
    if (!spool_wait_over(&target->rest, now))
        due = target->rest.until;
    if (!spool_wait_over(&waiting->wait, now) && waiting->wait.until > due)
        due = waiting->wait.until;
    return due;
}

bool retry_is_due(const struct target *target, const struct spool_target *waiting,
                  bool any_report)
{
    int64_t now = time(NULL);
    if (waiting->state != TARGET_PENDING || !spool_wait_over(&target->rest, now))
        return false;
    return any_report || spool_wait_over(&waiting->wait, now);
}

// wait_of is a wait of that many seconds from now; one more second covers the fraction.
static struct spool_wait wait_of(int64_t seconds)
{
    int64_t now = time(NULL);
    return (struct spool_wait){ .noted = now, .until = now + seconds + 1 };
}

void retry_postpone(struct target *target, struct spool_target *waiting,
                    const struct verdict *verdict)
{
    uint32_t failures = waiting->attempts;
    if (verdict->target_down && ++target->failures > failures)
        failures = target->failures;
    waiting->wait = wait_of(retry_wait_s(verdict->wait_s, failures));
    if (verdict->target_down)
        target->rest = waiting->wait;
}

enum ch_status retry_keep(const struct spool *spool, struct target *target,
                          const struct verdict *verdict)
{
    if (verdict->wait_s < 0 && verdict->attachments_wait_s < 0 && !verdict->expanded)
        return CH_OK;
    if (verdict->wait_s >= 0)
        target->rest = wait_of(retry_wait_s(verdict->wait_s, 0));
    if (verdict->attachments_wait_s >= 0)
        target->attachments_rest =
            wait_of(retry_wait_s(verdict->attachments_wait_s, 0));
    // A collector that is updated gets version 2 of reports at most a day later.
    if (verdict->expanded)
        target->tables_rest = wait_of(WAIT_MAX_S);
    const struct spool_waits waits = { .reports = target->rest,
                                       .attachments = target->attachments_rest,
                                       .tables = target->tables_rest };
    return spool_waits_write(spool, target->shown, &waits, time(NULL));
}

void retry_learn(const struct spool *spool, struct target *target, bool insist)
{
    const struct spool_waits waits = spool_waits_read(spool, target->shown);
    if (!insist && waits.reports.until > target->rest.until)
        target->rest = waits.reports;
    target->attachments_rest = waits.attachments;
    target->tables_rest = waits.tables;
}
