// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "collector/requests/api.h"
#include "collector/requests/filter.h"
#include "collector/requests/triage.h"

static bool read_triage_version(struct http_request *request, const json_t *version,
                                struct triage *out)
{
    if (!json_is_integer(version)) {
        http_fail(request, 400, "version is not a number");
        return false;
    }
    out->decision.versioned = true;
    out->decision.version = json_integer_value(version);
    return true;
}

// read_triage reads the members of object, all of which have to be known: a mistake in
// a name must not make a decision of another one.
static bool read_triage(struct http_request *request, json_t *object,
                        struct triage *out)
{
    const struct {
        const char *key;
        const char **to;
    } texts[] = {
        { "status", &out->decision.status },   { "release", &out->decision.release },
        { "note", &out->decision.note },       { "assignee", &out->decision.assignee },
        { "comment", &out->decision.comment }, { "until", &out->until },
        { "merge_into", &out->merge_into },    { "split", &out->split },
    };
    enum { TEXT_COUNT = sizeof(texts) / sizeof(texts[0]) };
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        size_t i = 0;
        while (i < TEXT_COUNT && strcmp(key, texts[i].key) != 0)
            i++;
        if (strcmp(key, "version") == 0) {
            if (!read_triage_version(request, value, out))
                return false;
        } else if (i == TEXT_COUNT) {
            http_fail(request, 400, "there is no member `%.40s`", key);
            return false;
        } else if (!json_is_string(value)) {
            http_fail(request, 400, "%s is not a string", key);
            return false;
        } else
            *texts[i].to = json_string_value(value);
    }
    return true;
}

void api_post_group(struct http_request *request)
{
    struct triage triage = { 0 };
    char id[ENTRY_GROUP_SIZE];
    if (!filter_knows(request, NULL))
        return;
    json_auto_t *object = api_body_json(request);
    if (!json_is_object(object))
        http_fail(request, 400, "the body is not a JSON object");
    else if (read_triage(request, object, &triage) && triage_do(request, &triage, id)) {
        entry_copy(request->id, sizeof(request->id), id);
        api_get_group(request);
    }
}
