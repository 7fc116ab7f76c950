// SPDX-License-Identifier: Apache-2.0
#include "upload/bodies/sentry_limits.h"

#include <stdbool.h>
#include <string.h>

#include "report/spool/spool_wait.h"

// read_seconds advances past digits and a fraction; false: there are no digits.
static bool read_seconds(const char **at, int64_t *out)
{
    int64_t seconds = 0;
    size_t digits = strspn(*at, "0123456789");
    for (size_t i = 0; i < digits && seconds < SPOOL_WAIT_MAX_S; i++)
        seconds = seconds * 10 + ((*at)[i] - '0');
    *at += digits;
    *at += **at == '.' ? 1 + strspn(*at + 1, "0123456789") : 0;
    *out = seconds < SPOOL_WAIT_MAX_S ? seconds : SPOOL_WAIT_MAX_S;
    return digits != 0;
}

// names says whether category is in a list that ends at `:` or `,`.
static bool names(const char *list, const char *category)
{
    size_t length = strlen(category);
    for (;;) {
        size_t word = strcspn(list, ";:,");
        if (word == length && strncmp(list, category, length) == 0)
            return true;
        if (list[word] != ';')
            return false;
        list += word + 1;
    }
}

static void lengthen(int64_t *limit, int64_t seconds)
{
    if (seconds > *limit)
        *limit = seconds;
}

static void read_category_limit(const char *at, struct sentry_limits *limits)
{
    int64_t seconds = 0;
    at += strspn(at, " \t");
    if (!read_seconds(&at, &seconds) || *at != ':')
        return;
    at++;
    bool all = names(at, "");
    if (all || names(at, "error"))
        lengthen(&limits->events_s, seconds);
    if (all || names(at, "attachment"))
        lengthen(&limits->attachments_s, seconds);
}

struct sentry_limits sentry_limits_parse(const char *value)
{
    struct sentry_limits limits = { .events_s = -1, .attachments_s = -1 };
    while (value != NULL && *value != 0) {
        read_category_limit(value, &limits);
        value += strcspn(value, ",");
        value += *value == ',' ? 1 : 0;
    }
    return limits;
}
