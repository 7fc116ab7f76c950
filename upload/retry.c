// SPDX-License-Identifier: Apache-2.0
#include "upload/retry.h"

#include <time.h>

#include "net/backoff.h"
#include "report/spool/spool_waits.h"

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
    waiting->wait = wait_of(backoff_wait_s(verdict->wait_s, failures));
    if (verdict->target_down)
        target->rest = waiting->wait;
}

enum ch_status retry_keep(const struct spool *spool, struct target *target,
                          const struct verdict *verdict)
{
    if (verdict->wait_s < 0 && verdict->attachments_wait_s < 0 && !verdict->expanded)
        return CH_OK;
    if (verdict->wait_s >= 0)
        target->rest = wait_of(backoff_wait_s(verdict->wait_s, 0));
    if (verdict->attachments_wait_s >= 0)
        target->attachments_rest =
            wait_of(backoff_wait_s(verdict->attachments_wait_s, 0));
    // A collector that is updated gets version 2 of reports at most a day later.
    if (verdict->expanded)
        target->tables_rest = wait_of(backoff_wait_s(SPOOL_WAIT_MAX_S, 0));
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
