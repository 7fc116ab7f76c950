// SPDX-License-Identifier: Apache-2.0
//
// The readings of a system clock in one unit. CLOCK_REALTIME counts from 1970,
// CLOCK_MONOTONIC from an arbitrary start.
#pragma once
#include <stdint.h>
#include <time.h>

// clock_now_ns reads a clock; 0 for a clock that does not exist.
uint64_t clock_now_ns(clockid_t clock);

// clock_now_us is clock_now_ns in microseconds.
uint64_t clock_now_us(clockid_t clock);

// clock_now_ms is clock_now_ns in milliseconds.
uint64_t clock_now_ms(clockid_t clock);

// clock_utc_seconds gives the seconds since 1970 of a date in UTC, as timegm does, of
// year, month, day, hour, minute and second, which are in their ranges. clock_utc_date
// sets these, as gmtime_r does. Years: 1970 to 9999. Neither takes a lock, which
// another thread may hold when its process forks, or reads a file.
int64_t clock_utc_seconds(const struct tm *date);
void clock_utc_date(int64_t seconds, struct tm *out);

// clock_utc_write writes RFC 3339 in UTC: 2026-11-21T09:17:00.000Z, of milliseconds
// since 1970.
enum { CLOCK_UTC_SIZE = 32 };
void clock_utc_write(uint64_t unix_ms, char out[static CLOCK_UTC_SIZE]);

// clock_utc_read reads what clock_utc_write writes; milliseconds and Z may be missing.
// It returns -1 for NULL, for another form, and for a year outside 1970 to 9999.
int64_t clock_utc_read(const char *text);
