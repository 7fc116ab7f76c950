// SPDX-License-Identifier: Apache-2.0
#include "collector/database/timestamp.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

enum { MINUTE_MS = 60000, HOUR_MS = 3600000 };

int64_t timestamp_now(void)
{
    return (int64_t)clock_now_ms(CLOCK_REALTIME);
}

enum ch_status timestamp_read_span(const char *text, int64_t *out)
{
    static const struct {
        char unit;
        int64_t ms;
    } units[] = { { 'm', MINUTE_MS },
                  { 'h', HOUR_MS },
                  { 'd', TIMESTAMP_DAY_MS },
                  { 'w', 7 * (int64_t)TIMESTAMP_DAY_MS } };
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 5 || text[digits] == 0 || text[digits + 1] != 0)
        return CH_ERR_MALFORMED;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (units[i].unit != text[digits])
            continue;
        *out = strtoll(text, NULL, 10) * units[i].ms;
        return CH_OK;
    }
    return CH_ERR_MALFORMED;
}

// read_fraction parses an optional `.123456` as milliseconds and advances past it.
static int64_t read_fraction(const char **at)
{
    if (**at != '.')
        return 0;
    (*at)++;
    int64_t ms = 0;
    for (int scale = 100; isdigit((unsigned char)**at); scale /= 10, (*at)++)
        ms += (int64_t)scale * (**at - '0');
    return ms;
}

// read_zone_offset parses `Z` or `+02:00`, up to the end of the text, as milliseconds.
static enum ch_status read_zone_offset(const char *at, int64_t *out)
{
    if (strcmp(at, "Z") == 0 || strcmp(at, "z") == 0) {
        *out = 0;
        return CH_OK;
    }
    struct tm tm = { 0 };
    if (at[0] != '+' && at[0] != '-')
        return CH_ERR_MALFORMED;
    const char *end = strptime(at + 1, "%H:%M", &tm);
    if (end == NULL || *end != 0)
        return CH_ERR_MALFORMED;
    int64_t ms = tm.tm_hour * (int64_t)HOUR_MS + tm.tm_min * (int64_t)MINUTE_MS;
    *out = at[0] == '-' ? -ms : ms;
    return CH_OK;
}

enum ch_status timestamp_read(const char *text, int64_t now_ms, int64_t *out)
{
    int64_t span_ms = 0;
    if (timestamp_read_span(text, &span_ms) == CH_OK) {
        *out = now_ms - span_ms;
        return CH_OK;
    }

    struct tm tm = { 0 };
    const char *at = strptime(text, "%Y-%m-%d", &tm);
    if (at == NULL || tm.tm_year < 70 || tm.tm_year > 8099)
        return CH_ERR_MALFORMED;
    if (*at == 0) {
        *out = clock_utc_seconds(&tm) * 1000;
        return CH_OK;
    }
    if (*at != 'T' && *at != 't' && *at != ' ')
        return CH_ERR_MALFORMED;
    at = strptime(at + 1, "%H:%M:%S", &tm);
    if (at == NULL)
        return CH_ERR_MALFORMED;
    int64_t ms = read_fraction(&at);
    int64_t offset = 0;
    enum ch_status status = read_zone_offset(at, &offset);
    if (status != CH_OK)
        return status;
    *out = clock_utc_seconds(&tm) * 1000 + ms - offset;
    return CH_OK;
}

void timestamp_write(int64_t time_ms, char *out)
{
    clock_utc_write(time_ms < 0 ? 0 : (uint64_t)time_ms, out);
}

void timestamp_write_day(int64_t day, char out[TIMESTAMP_DAY_SIZE])
{
    char time[TIMESTAMP_SIZE];
    timestamp_write(day * TIMESTAMP_DAY_MS, time);
    memcpy(out, time, TIMESTAMP_DAY_SIZE - 1);
    out[TIMESTAMP_DAY_SIZE - 1] = 0;
}

void timestamp_write_ago(int64_t time_ms, int64_t now_ms, char *out)
{
    static const struct {
        int64_t ms;
        int64_t least; // of a year or a month: one of 30 days would be said of 55
        const char *name;
    } units[] = { { 365 * (int64_t)TIMESTAMP_DAY_MS, 2, "year" },
                  { 30 * (int64_t)TIMESTAMP_DAY_MS, 3, "month" },
                  { TIMESTAMP_DAY_MS, 1, "day" },
                  { HOUR_MS, 1, "hour" },
                  { MINUTE_MS, 1, "minute" } };
    int64_t passed = now_ms - time_ms;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        long long count = (long long)(passed / units[i].ms);
        if (count < units[i].least)
            continue;
        snprintf(out, TIMESTAMP_SIZE, "%lld %s%s ago", count, units[i].name,
                 count == 1 ? "" : "s");
        return;
    }
    snprintf(out, TIMESTAMP_SIZE, "just now");
}
