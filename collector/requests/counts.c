// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/counts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "collector/database/timestamp.h"

static const struct count_key keys[] = {
    { "program", "program", FACET_EXECUTABLE },
    { "release", "release", FACET_RELEASE },
    { "environment", "environment", FACET_ENVIRONMENT },
    { "host", "machine", FACET_HOSTNAME },
    { "kind", "kind", FACET_KIND },
    { "signal", "signal", FACET_SIGNAL_NAME },
    { "kernel", "kernel", FACET_KERNEL },
    { "processor", "processor", FACET_PROCESSOR },
    { "uptime", "ran for", FACET_UPTIME },
    { "thread", "thread", FACET_THREAD },
    { "address", "address", FACET_ADDRESS },
    { "depth", "stack", FACET_DEPTH },
    { "register", "register", FACET_REGISTER },
    { "argument", "argument", FACET_ARGUMENT },
    { "freed-in", "freed in", FACET_FREED_IN },
    { "tag", "tag", FACET_TAG },
    { "frame", "function", FACET_FRAME },
    { "file", "source file", FACET_FILE },
    { "build", "build ID", FACET_BUILD },
    { "message", "message", FACET_MESSAGE },
    { "day", "day", FACET_DAY },
};
enum { KEY_COUNT = sizeof(keys) / sizeof(keys[0]) };

const struct count_key *count_keys(size_t *out_count)
{
    *out_count = KEY_COUNT;
    return keys;
}

const struct count_key *count_key_of(enum store_facet facet)
{
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (keys[i].facet == facet)
            return &keys[i];
    }
    return NULL;
}

// read_count_key reads a parameter that names a key; false: it failed the request.
static bool read_count_key(struct http_request *request, const char *parameter,
                           const struct count_key **out)
{
    const char *value = http_parameter_value(request, parameter);
    *out = NULL;
    if (value == NULL || value[0] == 0)
        return true;
    for (size_t i = 0; i < KEY_COUNT && *out == NULL; i++) {
        if (strcmp(keys[i].name, value) == 0)
            *out = &keys[i];
    }
    if (*out == NULL)
        http_fail(request, 400,
                  "%s is not one of program, release, environment, host, kind, signal,"
                  " kernel, processor, uptime, thread, address, depth, register,"
                  " argument, tag, frame, file, build, message and day",
                  parameter);
    return *out != NULL;
}

// read_most reads how many reports are counted.
static bool read_most(struct http_request *request, size_t *out)
{
    const char *value = http_parameter_value(request, "most");
    *out = COUNTS_DEFAULT;
    if (value == NULL || value[0] == 0)
        return true;
    char *end = NULL;
    unsigned long number = strtoul(value, &end, 10);
    *out = number;
    if (isdigit((unsigned char)value[0]) && *end == 0 && number != 0 &&
        number <= COUNTS_MOST)
        return true;
    http_fail(request, 400, "most is not a number from 1 to %d", COUNTS_MOST);
    return false;
}

bool counts_read(struct http_request *request, const char *also,
                 struct counts_request *out)
{
    size_t most = 0;
    if (!filter_read_with(request, COUNTS_VALUES, also, &out->filter) ||
        !read_count_key(request, "by", &out->by) ||
        !read_count_key(request, "then", &out->then) || !read_most(request, &most))
        return false;
    if (out->then != NULL && out->by == NULL) {
        http_fail(request, 400, "then needs by");
        return false;
    }
    out->filter.store.limit = most;
    return true;
}

enum ch_status counts_run(struct store *store, const struct counts_request *counts,
                          size_t limit, store_counted_fn *visit, void *context,
                          struct store_found *found)
{
    const struct store_counting counting = {
        .filter = &counts->filter.store,
        .kind = counts->by != NULL ? counts->by->facet : 0,
        .then = counts->then != NULL ? counts->then->facet : 0,
        .limit = limit,
    };
    return store_count_values(store, &counting, visit, context, found);
}

void counts_write_value(enum store_facet facet, const char *value, struct text *out)
{
    char day[TIMESTAMP_DAY_SIZE];
    if (facet == FACET_DAY) {
        timestamp_write_day(strtoll(value, NULL, 10), day);
        text_append_string(out, day);
        return;
    }
    for (; *value != 0; value++)
        text_append(out, facet == FACET_TAG && *value == '\n' ? ":" : value, 1);
}

void counts_write_term(const struct count_key *key, const char *value, struct text *out)
{
    struct text CH_CLEANUP(text_deinit) term = { 0 };
    const char *end = strchr(value, '\n');
    if (key->facet == FACET_TAG && end != NULL) {
        struct text CH_CLEANUP(text_deinit) name = { 0 };
        text_append(&name, value, (size_t)(end - value));
        if (text_ok(&name))
            search_write_tag(text_string(&name), end + 1, &term);
    } else {
        counts_write_value(key->facet, value, &term);
    }
    if (text_ok(&term) && term.size != 0)
        search_write_term(out, key->facet == FACET_DAY ? "time" : key->name,
                          term.bytes);
}
