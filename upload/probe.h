// SPDX-License-Identifier: Apache-2.0
//
// Asking a target whether it would take a report from us, before any depends on it.
//
// The question goes where reports go and carries what they carry to be let in, but has
// no report in it, so nothing is stored: a collector is sent an empty object, which it
// refuses for what it is only after it has accepted the token; Sentry an envelope that
// says that no event was discarded; a log intake a request without a record. User:
// doctor.
#pragma once
#include <stddef.h>

#include "base/status.h"
#include "upload/target.h"

// What reports are let in by.
struct probe_credentials {
    const char *token;        // of collectors; NULL: none
    const char *otlp_headers; // of log intakes; NULL: none
};

// probe_target asks target, for a few seconds at most, and writes to why how it went
// ("takes reports", or the reason why not). CH_ERR_NOT_FOUND: it does not answer, or is
// something else. CH_ERR_UNSUPPORTED: it refuses us.
CH_CHECKED enum ch_status probe_target(const struct target *target,
                                       const struct probe_credentials *credentials,
                                       char *why, size_t size);
