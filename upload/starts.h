// SPDX-License-Identifier: Apache-2.0
//
// The starts and clean ends that programs counted in the spool (shared/start_record.h),
// on their way to collectors, and to Sentry as its sessions (sentry_envelope.h).
//
// Under a lock, the file of a day and a release is renamed to a batch with an id, so
// that programs begin another; a batch is sent until every collector took it. A
// collector takes an id once, so that sending it again counts nothing twice. For each
// Sentry there is a file of its own, which is deleted once it was taken. What could not
// be sent in 30 days is dropped. Users: cli (upload).
#pragma once
#include "report/spool/spool.h"
#include "upload/target.h"

struct starts_sending {
    const struct spool *spool;
    const struct target *targets; // log intakes are left out
    size_t target_count;
    const char *token;
    uint64_t timeout_ms;
};

// starts_send sends what was counted. It returns how many batches wait.
size_t starts_send(const struct starts_sending *sending);
