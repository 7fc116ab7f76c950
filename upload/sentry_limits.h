// SPDX-License-Identifier: Apache-2.0
//
// The header X-Sentry-Rate-Limits: for how many seconds Sentry wants no more of what.
//
//   SECONDS:CATEGORY;CATEGORY:SCOPE:..., SECONDS::SCOPE, ...
//
// No category means all of them. What we send is an event (category error) with an
// attachment; other categories are passed over, as is what cannot be understood.
#pragma once
#include <stdint.h>

struct sentry_limits {
    int64_t events_s;      // -1: none
    int64_t attachments_s; // -1: none
};

// sentry_limits_parse reads the header's value.
struct sentry_limits sentry_limits_parse(const char *value);
