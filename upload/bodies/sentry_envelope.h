// SPDX-License-Identifier: Apache-2.0
//
// What is posted to Sentry: an envelope, which is lines of JSON with payloads of a
// given length between them. It holds the event, the end of a session that was counted,
// and, as an attachment, the report itself.
#pragma once
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

// sentry_envelope_write appends the envelope as it would be sent at unix_ms; json is
// the report as it is stored, size bytes of it, or NULL to attach none.
CH_CHECKED enum ch_status sentry_envelope_write(const json_t *report, const char *json,
                                                size_t size, int64_t unix_ms,
                                                struct text *out);

// Counted starts as Sentry's sessions. Starts are sent as sums of an hour, which begin
// sessions; the event of a crash carries the update that ends its session as crashed.
// So Sentry's share of sessions without a crash is what a collector computes.

enum { SENTRY_SESSION_HOURS = 24 };

struct sentry_sessions {
    const char *release; // not empty: Sentry takes none without
    int64_t day;         // since 1970
    int64_t starts[SENTRY_SESSION_HOURS];
};

// sentry_sessions_write appends an envelope with the starts of a day, as sent at
// unix_ms.
CH_CHECKED enum ch_status sentry_sessions_write(const struct sentry_sessions *sessions,
                                                int64_t unix_ms, struct text *out);
