// SPDX-License-Identifier: Apache-2.0
//
// Counting starts and clean ends (CRASHHOOK_STARTS, crashhook_session_begin). The
// program notes both in its context page, in memory; its supervisor (life.h) appends a
// record for each to the file of the day and the release in the spool, from which
// `crashhook upload` takes them. A process without an end was not necessarily killed:
// crashes are counted by their reports, which have the session.
//
// Users: install.c, life.c; the record's layout: agent/liveness.c, upload/starts.c.
#pragma once
#include <stdint.h>

enum start_kind { START_BEGUN = 1, START_ENDED = 2 };

// A start_record is appended with one call, so that no lock is needed.
struct start_record {
    uint64_t session; // random
    uint32_t time_s;  // since 1970, modulo 2^32
    uint32_t kind;    // enum start_kind
};

// START_PREFIX begins the name of such a file; then come the day since 1970, 8 digits,
// a hyphen and the bytes of the release, all hexadecimal, and START_SUFFIX.
#define START_PREFIX "starts-"
#define START_SUFFIX ".day"

#pragma GCC visibility push(hidden)

// starts_begin counts the start of this process, once; a forked child counts only after
// it has executed a program.
void starts_begin(void);

// starts_end counts its end, once, if its start was counted.
void starts_end(void);

#pragma GCC visibility pop
