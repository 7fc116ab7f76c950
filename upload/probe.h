// SPDX-License-Identifier: Apache-2.0
//
// A check whether a target would take a report from us, before any report depends on
// it.
//
// The request goes where reports go, with the credentials of reports, but contains no
// report that can be stored: a collector is sent a whole one, which it judges like any
// other and refuses in the end, because its id is none; Sentry an envelope which says
// that no event was discarded; a log intake a request without a record. User: doctor.
#pragma once
#include <stddef.h>

#include "base/status.h"
#include "upload/target.h"

// probe_credentials is what gives reports access.
struct probe_credentials {
    const char *token;        // for collectors; NULL: none
    const char *otlp_headers; // for log intakes; NULL: none
};

// probe_target sends the request to target, waits a few seconds at most, and writes the
// result to why ("takes reports", or the reason why not). CH_ERR_NOT_FOUND: there is no
// answer, or the server is something else. CH_ERR_UNSUPPORTED: it refuses us.
CH_CHECKED enum ch_status probe_target(const struct target *target,
                                       const struct probe_credentials *credentials,
                                       char *why, size_t size);
