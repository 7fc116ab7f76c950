// SPDX-License-Identifier: Apache-2.0
//
// Sentry's protocol: POST BASE/api/PROJECT/envelope/ and what the answer means. The
// event carries the report's id, by which Sentry recognizes an event that was sent
// twice. Sentry's rate limits are part of the verdict, even if it took the event; an
// envelope that is too large for it is sent again without the report.
#pragma once
#include <stdbool.h>

#include "upload/bodies/sentry_sessions.h"
#include "upload/shipment.h"
#include "upload/target.h"

// sentry_send sends the report's envelope and judges the answer.
void sentry_send(const struct target *target, const struct shipment *shipment,
                 struct verdict *out);

// sentry_send_sessions sends counted starts, and says whether they were taken.
bool sentry_send_sessions(const struct target *target,
                          const struct sentry_sessions *sessions, uint64_t timeout_ms);

// sentry_ask asks by an envelope that says that no event was discarded.
void sentry_ask(const struct target *target, const struct shipment *shipment,
                struct shipment_question *out);
