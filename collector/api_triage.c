// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "collector/server/api.h"
#include "collector/server/triage.h"

// read_triage_text reads a member that is a string or absent; false: it has another
// type.
static bool read_triage_text(struct http_request *request, const json_t *object,
                             const char *key, const char **out)
{
    const json_t *value = json_object_get(object, key);
    if (value == NULL)
        return true;
    if (!json_is_string(value)) {
        http_fail(request, 400, "%s is not a string", key);
        return false;
    }
    *out = json_string_value(value);
    return true;
}

static bool read_triage_version(struct http_request *request, const json_t *object,
                                struct triage *out)
{
    const json_t *version = json_object_get(object, "version");
    if (version != NULL && !json_is_integer(version)) {
        http_fail(request, 400, "version is not a number");
        return false;
    }
    out->decision.versioned = version != NULL;
    out->decision.version = json_integer_value(version);
    return true;
}

static bool read_triage(struct http_request *request, const json_t *object,
                        struct triage *out)
{
    struct store_decision *decision = &out->decision;
    return read_triage_text(request, object, "status", &decision->status) &&
           read_triage_text(request, object, "release", &decision->release) &&
           read_triage_text(request, object, "note", &decision->note) &&
           read_triage_text(request, object, "assignee", &decision->assignee) &&
           read_triage_text(request, object, "comment", &decision->comment) &&
           read_triage_text(request, object, "until", &out->until) &&
           read_triage_version(request, object, out) &&
           read_triage_text(request, object, "merge_into", &out->merge_into) &&
           read_triage_text(request, object, "split", &out->split);
}

void api_post_group(struct http_request *request)
{
    json_error_t error;
    struct triage triage = { 0 };
    char id[ENTRY_GROUP_SIZE];
    json_t *object = json_loadb(request->body.bytes != NULL ? request->body.bytes : "",
                                request->body.size, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(object))
        http_fail(request, 400, "the body is not a JSON object");
    else if (read_triage(request, object, &triage) && triage_do(request, &triage, id)) {
        entry_copy(request->id, sizeof(request->id), id);
        api_get_group(request);
    }
    json_decref(object);
}
