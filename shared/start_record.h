// SPDX-License-Identifier: Apache-2.0
//
// Counted starts and ends of programs (CRASHHOOK_STARTS) as they lie in a spool: one
// file a day and release, to which the supervisor of a program
// (agent/daemon/liveness.c) appends and from which `crashhook upload` (upload/starts.c)
// takes.
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
