// SPDX-License-Identifier: Apache-2.0
//
// A moment is a point in time: milliseconds since 1970, UTC. Reports and requests write
// it as RFC 3339; URLs of pages also as a day or as a time before now.
#pragma once
#include <stdint.h>

#include "base/clock.h"
#include "base/status.h"

// TIMESTAMP_SIZE holds a moment as text: 2026-11-21T09:17:00.000Z and its NUL.
enum {
    TIMESTAMP_SIZE = CLOCK_UTC_SIZE,
    TIMESTAMP_DAY_SIZE = sizeof("2026-11-21"), // the day alone
    TIMESTAMP_DAY_MS = 86400000,
};

// timestamp_now is the current time by our clock.
int64_t timestamp_now(void);

// timestamp_read parses RFC 3339 (any offset, up to nanoseconds), a bare day
// (2026-11-21), and, relative to now_ms, `90m`, `24h`, `7d` or `4w`. CH_ERR_MALFORMED:
// anything else, and years before 1970 or after 9999.
CH_CHECKED enum ch_status timestamp_read(const char *text, int64_t now_ms,
                                         int64_t *out);

// timestamp_read_span parses `90m`, `24h`, `7d` or `4w` as milliseconds.
CH_CHECKED enum ch_status timestamp_read_span(const char *text, int64_t *out);

// timestamp_write writes RFC 3339 with milliseconds, UTC, into TIMESTAMP_SIZE bytes.
void timestamp_write(int64_t time_ms, char *out);

// timestamp_write_day writes a day, counted from 1970, UTC.
void timestamp_write_day(int64_t day, char out[TIMESTAMP_DAY_SIZE]);

// timestamp_write_ago writes how long before now_ms it was (`3 minutes ago`, `just
// now`) into TIMESTAMP_SIZE bytes.
void timestamp_write_ago(int64_t time_ms, int64_t now_ms, char *out);
