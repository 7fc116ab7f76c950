// SPDX-License-Identifier: Apache-2.0
#include "collector/server/filter.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/moment.h"

static const char *const names[] = { "release", "environment", "tag", "signal",
                                     "since",   "until",       "q",   "group",
                                     "limit",   "status" };

// given_parameter is a parameter that has a value: an empty field of a form counts as
// absent.
static const char *given_parameter(const struct http_request *request, const char *key)
{
    const char *value = http_parameter_value(request, key);
    return value != NULL && value[0] != 0 ? value : NULL;
}

static bool read_moment(struct http_request *request, const char *key, int64_t *out)
{
    const char *value = given_parameter(request, key);
    if (value == NULL || moment_read(value, moment_now(), out) == CH_OK)
        return true;
    http_fail(request, 400,
              "%s is not a time such as 2026-11-21, 2026-11-21T09:00:00Z or 24h", key);
    return false;
}

static bool read_filter_limit(struct http_request *request, size_t fallback,
                              size_t *out)
{
    const char *value = given_parameter(request, "limit");
    *out = fallback;
    if (value == NULL)
        return true;
    char *end = NULL;
    unsigned long number = strtoul(value, &end, 10);
    if (!isdigit((unsigned char)value[0]) || *end != 0 || number == 0 ||
        number > STORE_PAGE_MAX) {
        http_fail(request, 400, "limit is not a number from 1 to %d", STORE_PAGE_MAX);
        return false;
    }
    *out = number;
    return true;
}

// read_filter_signal accepts 11, SIGSEGV, or SEGV in either case.
static void read_filter_signal(const struct http_request *request, struct filter *out)
{
    const char *value = given_parameter(request, "signal");
    if (value == NULL)
        return;
    size_t digits = strspn(value, "0123456789");
    if (value[digits] == 0 && digits < 6 && strtol(value, NULL, 10) != 0) {
        out->store.signal = strtol(value, NULL, 10);
        return;
    }
    bool whole = strncasecmp(value, "SIG", 3) == 0;
    snprintf(out->signal_name, sizeof(out->signal_name), "SIG%s",
             whole ? value + 3 : value);
    for (char *c = out->signal_name; *c != 0; c++)
        *c = (char)toupper((unsigned char)*c);
    out->store.signal_name = out->signal_name;
}

static bool read_tags(struct http_request *request, struct filter *out)
{
    struct store_filter *filter = &out->store;
    for (size_t i = 0; i < request->parameter_count; i++) {
        const struct http_parameter *parameter = &request->parameters[i];
        if (strcmp(parameter->key, "tag") != 0 || parameter->value[0] == 0)
            continue;
        const char *colon = strchr(parameter->value, ':');
        size_t n = filter->tag_count;
        if (colon == NULL || n == STORE_FILTER_TAGS ||
            (size_t)(colon - parameter->value) >= sizeof(out->tag_keys[n])) {
            http_fail(request, 400, "tag is not key:value, at most %d of them",
                      STORE_FILTER_TAGS);
            return false;
        }
        snprintf(out->tag_keys[n], sizeof(out->tag_keys[n]), "%.*s",
                 (int)(colon - parameter->value), parameter->value);
        filter->tags[n].key = out->tag_keys[n];
        filter->tags[n].value = colon + 1;
        filter->tag_count++;
    }
    return true;
}

// is_utf8 fails the request for a parameter that is not UTF-8, which no store could
// hold.
static bool is_utf8(struct http_request *request)
{
    for (size_t i = 0; i < request->parameter_count; i++) {
        // json_string returns NULL for what is not UTF-8.
        json_t *string = json_string(request->parameters[i].value);
        json_decref(string);
        if (string != NULL)
            continue;
        http_fail(request, 400, "a parameter is not UTF-8");
        return false;
    }
    return true;
}

static bool read_status(struct http_request *request, const char **out)
{
    static const char *const statuses[] = { "open", "resolved", "ignored",
                                            "regressed" };
    const char *value = given_parameter(request, "status");
    *out = value;
    for (size_t i = 0; value != NULL && i < sizeof(statuses) / sizeof(statuses[0]);
         i++) {
        if (strcmp(value, statuses[i]) == 0)
            return true;
    }
    if (value != NULL)
        http_fail(request, 400, "status is not open, resolved, ignored or regressed");
    return value == NULL;
}

bool filter_read(struct http_request *request, size_t default_limit, struct filter *out)
{
    *out = (struct filter){ 0 };
    if (!is_utf8(request))
        return false;
    out->store.release = given_parameter(request, "release");
    out->store.environment = given_parameter(request, "environment");
    out->store.group = given_parameter(request, "group");
    out->store.query = given_parameter(request, "q");
    out->store.cursor = given_parameter(request, "cursor");
    read_filter_signal(request, out);
    return read_status(request, &out->store.status) &&
           read_moment(request, "since", &out->store.since_ms) &&
           read_moment(request, "until", &out->store.until_ms) &&
           read_filter_limit(request, default_limit, &out->store.limit) &&
           read_tags(request, out);
}

// append_encoded copies characters that may stand in a query and writes the others as
// %XX.
static void append_encoded(struct text *out, const char *value)
{
    for (; *value != 0; value++) {
        unsigned char c = (unsigned char)*value;
        if (isalnum(c) || strchr("-._~:/", c) != NULL)
            text_append(out, value, 1);
        else
            text_appendf(out, "%%%02X", c);
    }
}

void filter_write_query(const struct http_request *request, struct text *out)
{
    for (size_t i = 0; i < request->parameter_count; i++) {
        const struct http_parameter *parameter = &request->parameters[i];
        bool ours = false;
        for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
            ours |= strcmp(parameter->key, names[n]) == 0;
        if (!ours || parameter->value[0] == 0)
            continue;
        text_appendf(out, "%s%s=", out->size != 0 ? "&" : "", parameter->key);
        append_encoded(out, parameter->value);
    }
}
