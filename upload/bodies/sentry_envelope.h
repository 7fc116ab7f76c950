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
