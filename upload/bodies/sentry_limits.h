// SPDX-License-Identifier: Apache-2.0
//
// The header X-Sentry-Rate-Limits: for how many seconds Sentry accepts no more of what.
//
// SECONDS:CATEGORY;CATEGORY:SCOPE:..., SECONDS::SCOPE, ...
//
// No category means all of them. We send an event (category error) with an attachment;
// other categories are skipped, and so is what cannot be parsed.
#pragma once
#include <stdint.h>

struct sentry_limits {
    int64_t events_s;      // -1: none
    int64_t attachments_s; // -1: none
};

// sentry_limits_parse parses the header's value; NULL has no limits.
struct sentry_limits sentry_limits_parse(const char *value);
