// SPDX-License-Identifier: Apache-2.0
#include "cli/render/time_span.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MINUTE_S = 60, DAY_S = 24 * 60 * 60 };

// read_time_parts reads text by one of the formats; out_day: it says which day.
static const char *read_time_parts(const char *text, struct tm *out, bool *out_day)
{
    static const char *const formats[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S",
                                           "%Y-%m-%dT%H:%M",    "%Y-%m-%d %H:%M",
                                           "%H:%M:%S",          "%H:%M" };
    const struct tm today = *out;
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        *out = today;
        out->tm_sec = 0;
        const char *rest = strptime(text, formats[i], out);
        *out_day = formats[i][1] == 'Y';
        if (rest != NULL && (*rest == 0 || strcmp(rest, "Z") == 0))
            return rest;
    }
    return NULL;
}

bool time_span_read(const char *text, int64_t now, struct time_span *out)
{
    bool day;
    struct tm parts;
    time_t moment = (time_t)now;
    size_t length = strlen(text);
    bool utc = length != 0 && text[length - 1] == 'Z';
    if ((utc ? gmtime_r(&moment, &parts) : localtime_r(&moment, &parts)) == NULL ||
        read_time_parts(text, &parts, &day) == NULL)
        return false;
    parts.tm_isdst = -1;
    int64_t minute = utc ? timegm(&parts) : mktime(&parts);
    if (!day && minute > now + MINUTE_S)
        minute -= DAY_S;
    *out = (struct time_span){ .first = minute - MINUTE_S,
                               .last = minute + 2 * MINUTE_S - 1 };
    return true;
}

bool time_span_has(const struct time_span *span, int64_t second)
{
    return span == NULL || (second >= span->first && second <= span->last);
}
