// SPDX-License-Identifier: Apache-2.0
//
// A file has the changes of a zone's clocks up to some year, and a rule as POSIX writes
// it for all later years: `CET-1CEST,M3.5.0,M10.5.0/3`. Many have the rule alone.
#include "collector/server/time_zone.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cursor.h"
#include "collector/server/setting_line.h"

enum {
    ZONES_MAX = 64,
    FILE_BYTES = 64 << 10,
    HEADER_BYTES = 44,
    COUNTS_AT = 20, // in the header
    TYPE_BYTES = 6,
    TYPES_MAX = 256,
    HOUR_S = 3600,
    MINUTE_S = 60,
    DAY_S = 86400,
    WEEK_DAYS = 7,
    BASE_YEAR = 1900,
};

// rule_day is when in each year the clocks change.
struct rule_day {
    char kind;       // M: month, week, day; J: of a year without 29 February; 0: of any
    int values[3];   // of the kind
    int32_t seconds; // after midnight
};

struct rule {
    bool known;
    bool changes; // twice a year
    int32_t standard;
    int32_t summer;
    struct rule_day begin;
    struct rule_day end;
};

struct change {
    int64_t at;
    int32_t offset;
};

struct time_zone {
    char name[TIME_ZONE_NAME];
    struct change *changes;
    size_t count;
    int32_t first; // before the first change
    struct rule rule;
};

static pthread_mutex_t zones_lock = PTHREAD_MUTEX_INITIALIZER;
static struct time_zone *zones[ZONES_MAX];
static size_t zone_count;

// read_span reads `2`, `-2:30` or `02:30:10` as seconds.
static bool read_span(const char **at, int32_t *out)
{
    int32_t unit = HOUR_S;
    int32_t sign = **at == '-' ? -1 : 1;
    *at += **at == '-' || **at == '+';
    *out = 0;
    for (;; unit /= MINUTE_S) {
        char *end = NULL;
        if (**at < '0' || **at > '9')
            return false;
        long value = strtol(*at, &end, 10);
        if (end - *at > 3)
            return false;
        *out += sign * (int32_t)value * unit;
        *at = end;
        if (*end != ':' || unit == 1)
            return true;
        (*at)++;
    }
}

// skip_abbreviation skips `CET` or `<+0330>`.
static bool skip_abbreviation(const char **at)
{
    const char *begin = *at;
    if (**at == '<') {
        *at += strcspn(*at, ">");
        return *(*at)++ == '>';
    }
    *at += strcspn(*at, "0123456789+-,");
    return *at != begin;
}

static bool read_rule_day(const char **at, struct rule_day *out)
{
    *out = (struct rule_day){ .seconds = 2 * HOUR_S };
    if (*(*at)++ != ',')
        return false;
    if (**at == 'M' || **at == 'J')
        out->kind = *(*at)++;
    for (size_t i = 0; i < (out->kind == 'M' ? 3 : 1); i++) {
        char *end = NULL;
        if (i != 0 && *(*at)++ != '.')
            return false;
        out->values[i] = (int)strtol(*at, &end, 10);
        if (end == *at || out->values[i] < 0 || out->values[i] > 366)
            return false;
        *at = end;
    }
    if (out->kind == 'M' &&
        (out->values[0] < 1 || out->values[0] > 12 || out->values[2] >= WEEK_DAYS))
        return false;
    if (**at != '/')
        return true;
    (*at)++;
    return read_span(at, &out->seconds);
}

static void read_rule(const char *text, struct rule *out)
{
    struct rule rule = { 0 };
    if (!skip_abbreviation(&text) || !read_span(&text, &rule.standard))
        return;
    rule.standard = -rule.standard;
    if (*text != 0) {
        rule.changes = true;
        rule.summer = rule.standard + HOUR_S;
        if (!skip_abbreviation(&text))
            return;
        if (*text != ',') {
            if (!read_span(&text, &rule.summer))
                return;
            rule.summer = -rule.summer;
        }
        if (!read_rule_day(&text, &rule.begin) || !read_rule_day(&text, &rule.end))
            return;
    }
    rule.known = *text == 0;
    *out = rule;
}

// sizes are the counts of a header.
struct sizes {
    uint32_t utc_marks;
    uint32_t standard_marks;
    uint32_t leaps;
    uint32_t changes;
    uint32_t types;
    uint32_t letters;
};

static struct sizes read_sizes(struct cursor *c)
{
    struct sizes sizes;
    cursor_skip(c, COUNTS_AT);
    sizes.utc_marks = cursor_u32(c);
    sizes.standard_marks = cursor_u32(c);
    sizes.leaps = cursor_u32(c);
    sizes.changes = cursor_u32(c);
    sizes.types = cursor_u32(c);
    sizes.letters = cursor_u32(c);
    return sizes;
}

// read_changes reads what follows the second header, whose times have 8 bytes.
static bool read_changes(struct cursor *c, const struct sizes *sizes,
                         struct time_zone *out)
{
    int32_t offsets[TYPES_MAX] = { 0 };
    size_t count = sizes->changes;
    if (count > FILE_BYTES / 9 || sizes->types == 0 || sizes->types > TYPES_MAX)
        return false;
    struct cursor types = *c;
    cursor_skip(&types, 9 * count);
    for (size_t i = 0; i < sizes->types; i++) {
        offsets[i] = (int32_t)cursor_u32(&types);
        cursor_skip(&types, TYPE_BYTES - 4);
    }
    out->changes = calloc(count + 1, sizeof(*out->changes));
    if (out->changes == NULL || !cursor_ok(&types))
        return false;
    for (size_t i = 0; i < count; i++)
        out->changes[i].at = cursor_sint(c, 8);
    for (size_t i = 0; i < count; i++)
        out->changes[i].offset = offsets[cursor_u8(c)];
    out->first = offsets[0];
    out->count = count;
    cursor_skip(c, (size_t)sizes->types * TYPE_BYTES + sizes->letters +
                       12 * (size_t)sizes->leaps + sizes->standard_marks +
                       sizes->utc_marks);
    return cursor_ok(c);
}

// read_zone reads a file of version 2 or later; false: it is another one.
static bool read_zone(const struct text *file, struct time_zone *out)
{
    struct cursor c = cursor_over(file->bytes, file->size);
    c.big_endian = true;
    if (file->size < HEADER_BYTES || memcmp(file->bytes, "TZif", 4) != 0 ||
        file->bytes[4] < '2')
        return false;
    struct sizes sizes = read_sizes(&c);
    cursor_skip(&c, 5 * (size_t)sizes.changes + (size_t)sizes.types * TYPE_BYTES +
                        sizes.letters + 8 * (size_t)sizes.leaps + sizes.standard_marks +
                        sizes.utc_marks);
    sizes = read_sizes(&c);
    if (!cursor_ok(&c) || !read_changes(&c, &sizes, out))
        return false;
    char rule[128] = "";
    size_t left = cursor_left(&c);
    const uint8_t *line = cursor_take(&c, left);
    if (line != NULL && left > 1)
        (void)snprintf(rule, sizeof(rule), "%.*s", (int)left - 1,
                       (const char *)line + 1);
    rule[strcspn(rule, "\n")] = 0;
    read_rule(rule, &out->rule);
    return true;
}

static bool is_zone_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789+-_/";
    size_t length = strspn(name, allowed);
    return length != 0 && length < TIME_ZONE_NAME && name[length] == 0 &&
           name[0] != '/';
}

// open_zone reads the file of a name; the caller holds zones_lock.
static struct time_zone *open_zone(const char *name)
{
    struct text CH_CLEANUP(text_deinit) file = { 0 };
    char path[TIME_ZONE_NAME + 32];
    (void)snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", name);
    if (zone_count == ZONES_MAX || setting_file_read(path, FILE_BYTES, &file) != CH_OK)
        return NULL;
    struct time_zone *zone = calloc(1, sizeof(*zone));
    if (zone == NULL)
        return NULL;
    memcpy(zone->name, name, strlen(name) + 1);
    if (read_zone(&file, zone)) {
        zones[zone_count++] = zone;
        return zone;
    }
    free(zone->changes);
    free(zone);
    return NULL;
}

const struct time_zone *time_zone_find(const char *name)
{
    struct time_zone *found = NULL;
    if (!is_zone_name(name))
        return NULL;
    pthread_mutex_lock(&zones_lock);
    for (size_t i = 0; i < zone_count && found == NULL; i++) {
        if (strcmp(zones[i]->name, name) == 0)
            found = zones[i];
    }
    if (found == NULL)
        found = open_zone(name);
    pthread_mutex_unlock(&zones_lock);
    return found;
}

const char *time_zone_name(const struct time_zone *zone)
{
    return zone->name;
}

// rule_time is when a rule's day begins in a year, with its seconds, as if it were UTC.
static int64_t rule_time(const struct rule_day *day, int year)
{
    struct tm date = { .tm_year = year - BASE_YEAR, .tm_mday = 1 };
    int64_t new_year = clock_utc_seconds(&date);
    if (day->kind == 'M') {
        struct tm first;
        date.tm_mon = day->values[0] - 1;
        int64_t begin = clock_utc_seconds(&date);
        clock_utc_date(begin, &first);
        // 1 January 1970 was a Thursday.
        int weekday = (int)((begin / DAY_S + 4) % WEEK_DAYS);
        int64_t at = begin + (int64_t)DAY_S *
                                 ((day->values[2] - weekday + WEEK_DAYS) % WEEK_DAYS);
        for (int week = 1; week < day->values[1]; week++) {
            struct tm next;
            clock_utc_date(at + (int64_t)WEEK_DAYS * DAY_S, &next);
            if (next.tm_mon != first.tm_mon)
                break;
            at += (int64_t)WEEK_DAYS * DAY_S;
        }
        return at + day->seconds;
    }
    int days = day->values[0];
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (day->kind == 'J')
        days += leap && days > 59 ? 0 : -1;
    return new_year + (int64_t)days * DAY_S + day->seconds;
}

static int32_t rule_offset(const struct rule *rule, int64_t unix_s)
{
    struct tm date;
    int64_t local_s = unix_s + rule->standard;
    if (!rule->changes || local_s < 0)
        return rule->standard;
    clock_utc_date(local_s, &date);
    int64_t begin = rule_time(&rule->begin, date.tm_year + BASE_YEAR) - rule->standard;
    int64_t end = rule_time(&rule->end, date.tm_year + BASE_YEAR) - rule->summer;
    bool summer =
        begin < end ? unix_s >= begin && unix_s < end : unix_s >= begin || unix_s < end;
    return summer ? rule->summer : rule->standard;
}

int32_t time_zone_offset(const struct time_zone *zone, int64_t unix_s)
{
    size_t low = 0;
    size_t high = zone->count;
    if (zone->rule.known &&
        (zone->count == 0 || unix_s >= zone->changes[zone->count - 1].at))
        return rule_offset(&zone->rule, unix_s);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->changes[middle].at <= unix_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low != 0 ? zone->changes[low - 1].offset : zone->first;
}

void time_zone_write(const struct time_zone *zone, int64_t time_ms, bool brief,
                     char out[TIME_ZONE_TEXT])
{
    char utc[CLOCK_UTC_SIZE];
    int64_t unix_s = time_ms > 0 ? time_ms / 1000 : 0;
    int32_t offset = zone != NULL ? time_zone_offset(zone, unix_s) : 0;
    int64_t local_s = unix_s + offset > 0 ? unix_s + offset : 0;
    int minutes = abs(offset) / MINUTE_S;
    clock_utc_write((uint64_t)local_s * 1000, utc);
    utc[brief ? sizeof("2026-11-27T12:03") - 1 : sizeof("2026-11-27T12:03:05") - 1] = 0;
    if (zone == NULL)
        (void)snprintf(out, TIME_ZONE_TEXT, "%sZ", utc);
    else
        (void)snprintf(out, TIME_ZONE_TEXT, "%s%c%02d:%02d", utc,
                       offset < 0 ? '-' : '+', minutes / 60 % 100, minutes % 60);
}
