// SPDX-License-Identifier: Apache-2.0
//
// Sentry's protocol: POST BASE/api/PROJECT/envelope/ and what the answer means. The
// event carries the report's id, by which Sentry recognizes an event that was sent
// twice. Sentry's rate limits are part of the verdict, even if it took the event; an
// envelope that is too large for it is sent again without the report.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "upload/bodies/sentry_envelope.h"
#include "upload/shipment.h"
#include "upload/target.h"

// sentry_send sends the report's envelope and judges the answer.
void sentry_send(const struct target *target, const struct shipment *shipment,
                 struct verdict *out);

// sentry_send_sessions sends counted starts, and returns whether they were taken.
bool sentry_send_sessions(const struct target *target,
                          const struct sentry_sessions *sessions, uint64_t timeout_ms);

// sentry_ask asks by an envelope that says that no event was discarded.
void sentry_ask(const struct target *target, const struct shipment *shipment,
                struct shipment_question *out);

// The header X-Sentry-Rate-Limits: for how many seconds Sentry accepts no more of what.
//
// SECONDS:CATEGORY;CATEGORY:SCOPE:..., SECONDS::SCOPE, ...
//
// No category means all of them. We send an event (category error) with an attachment;
// other categories are skipped, and so is what cannot be parsed.

struct sentry_limits {
    int64_t events_s;      // -1: none
    int64_t attachments_s; // -1: none
};

// sentry_limits_parse parses the header's value; NULL has no limits.
struct sentry_limits sentry_limits_parse(const char *value);
