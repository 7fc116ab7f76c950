// SPDX-License-Identifier: Apache-2.0
//
// How long to wait before the next request to a server, whether it named a time
// (Retry-After) or not. Every sender of requests waits by these rules: reports, objects
// in buckets, alerts.
#pragma once
#include <stdint.h>

// backoff_wait_s is how long to wait: as long as the server requested (asked_s), or
// (-1: it did not) a second, doubled with each failure up to an hour, from three
// quarters to five quarters of that. A time that a server requested is lengthened by up
// to half, so that what failed together is not tried again together. At least a second,
// less than SPOOL_WAIT_MAX_S.
int64_t backoff_wait_s(int64_t asked_s, uint32_t failures);

// backoff_fraction_ms is a random part of a second. Waits end at whole seconds, so
// whoever wakes at the end of one lets this pass first.
int backoff_fraction_ms(void);
