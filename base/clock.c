// SPDX-License-Identifier: Apache-2.0
#define _XOPEN_SOURCE 700 // strptime

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

enum { NS_PER_US = 1000, NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

uint64_t clock_now_ns(clockid_t clock)
{
    struct timespec now = { 0 };
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t clock_now_us(clockid_t clock)
{
    return clock_now_ns(clock) / NS_PER_US;
}

uint64_t clock_now_ms(clockid_t clock)
{
    return clock_now_ns(clock) / NS_PER_MS;
}

enum { DAY_S = 86400, EPOCH_YEAR = 1970 };

static int days_in_year(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 366 : 365;
}

static int days_in_month(int year, int month)
{
    static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    return lengths[month] + (month == 1 && days_in_year(year) == 366);
}

int64_t clock_utc_seconds(const struct tm *date)
{
    int year = date->tm_year + 1900;
    int64_t days = date->tm_mday - 1;
    for (int before = EPOCH_YEAR; before < year; before++)
        days += days_in_year(before);
    for (int month = 0; month < date->tm_mon; month++)
        days += days_in_month(year, month);
    return days * DAY_S + date->tm_hour * 3600 + date->tm_min * 60 + date->tm_sec;
}

void clock_utc_date(int64_t seconds, struct tm *out)
{
    int64_t days = seconds / DAY_S;
    int of_day = (int)(seconds % DAY_S);
    int year = EPOCH_YEAR;
    int month = 0;
    for (; days >= days_in_year(year); year++)
        days -= days_in_year(year);
    for (; days >= days_in_month(year, month); month++)
        days -= days_in_month(year, month);
    *out = (struct tm){ .tm_year = year - 1900,
                        .tm_mon = month,
                        .tm_mday = (int)days + 1,
                        .tm_hour = of_day / 3600,
                        .tm_min = of_day / 60 % 60,
                        .tm_sec = of_day % 60 };
}

void clock_utc_write(uint64_t unix_ms, char out[static CLOCK_UTC_SIZE])
{
    struct tm date;
    clock_utc_date((int64_t)(unix_ms / 1000), &date);
    (void)snprintf(out, CLOCK_UTC_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ",
                   (unsigned)(date.tm_year + 1900) % 10000,
                   (unsigned)(date.tm_mon + 1) % 100, (unsigned)date.tm_mday % 100,
                   (unsigned)date.tm_hour % 100, (unsigned)date.tm_min % 100,
                   (unsigned)date.tm_sec % 100, (unsigned)(unix_ms % 1000));
}

int64_t clock_utc_read(const char *text)
{
    struct tm date = { 0 };
    const char *rest = text != NULL ? strptime(text, "%Y-%m-%dT%H:%M:%S", &date) : NULL;
    if (rest == NULL || date.tm_year < EPOCH_YEAR - 1900 || date.tm_year > 9999 - 1900)
        return -1;
    long ms = 0;
    if (rest[0] == '.' && rest[1] >= '0' && rest[1] <= '9')
        ms = strtol(rest + 1, NULL, 10);
    return clock_utc_seconds(&date) * 1000 + (ms < 1000 ? ms : 999);
}
