// SPDX-License-Identifier: Apache-2.0
//
// A moment is a point in time: milliseconds since 1970, UTC. Reports and requests write
// it as RFC 3339; URLs of pages also as a day or as a time before now.
#pragma once
#include <stdint.h>

#include "base/status.h"

// MOMENT_SIZE holds a moment as text: 2026-11-21T09:17:00.000Z and its NUL.
enum { MOMENT_SIZE = 32, MOMENT_DAY_MS = 86400000 };

// moment_now is the current time by our clock.
int64_t moment_now(void);

// moment_read parses RFC 3339 (any offset, up to nanoseconds), a bare day (2026-11-21),
// and, relative to now_ms, `90m`, `24h`, `7d` or `4w`. CH_ERR_MALFORMED: anything else,
// and years before 1970 or after 9999.
CH_CHECKED enum ch_status moment_read(const char *text, int64_t now_ms, int64_t *out);

// moment_read_span parses `90m`, `24h`, `7d` or `4w` as milliseconds.
CH_CHECKED enum ch_status moment_read_span(const char *text, int64_t *out);

// moment_write writes RFC 3339 with milliseconds, UTC, into MOMENT_SIZE bytes.
void moment_write(int64_t moment_ms, char *out);

// moment_write_ago writes how long before now_ms it was (`3 minutes ago`, `just now`)
// into MOMENT_SIZE bytes.
void moment_write_ago(int64_t moment_ms, int64_t now_ms, char *out);
