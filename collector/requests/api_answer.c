// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/api.h"

#include <stdlib.h>

#include "collector/database/timestamp.h"
#include "collector/query/store_people.h"
#include "collector/requests/collector.h"

json_t *api_body_json(const struct http_request *request)
{
    json_error_t wrong;
    return json_loadb(request->body.bytes != NULL ? request->body.bytes : "",
                      request->body.size, JSON_REJECT_DUPLICATES, &wrong);
}

void api_answer_json(struct http_request *request, unsigned status, json_t *json)
{
    char *dumped = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    if (dumped == NULL) {
        http_fail(request, 503, "out of memory");
        return;
    }
    request->answer.status = status;
    request->answer.content_type = "application/json";
    text_append_string(&request->answer.body, dumped);
    text_append_string(&request->answer.body, "\n");
    free(dumped);
}

void api_fail_store(struct http_request *request, enum ch_status status,
                    const char *what)
{
    if (status == CH_ERR_NOT_FOUND)
        http_fail(request, 404, "there is no such %s", what);
    else if (status == CH_ERR_MALFORMED)
        http_fail(request, 400, "cursor is not one of ours");
    else if (status == CH_ERR_LIMIT)
        http_fail(request, 503, "this took too long to find, ask for less");
    else
        http_fail(request, 503, "the store could not be read");
}

void api_answer_store(struct http_request *request, enum ch_status status,
                      const char *what, json_t *json)
{
    if (status == CH_OK) {
        api_answer_json(request, 200, json);
        return;
    }
    json_decref(json);
    api_fail_store(request, status, what);
}

json_t *api_timestamp_json(int64_t time_ms)
{
    char text[TIMESTAMP_SIZE];
    timestamp_write(time_ms, text);
    return json_string(text);
}

bool api_audit(struct http_request *request, const char *what, const char *detail)
{
    struct collector *collector = collector_of(request);
    const struct store_audit_entry entry = { .who = request->who.name,
                                             .project = request->who.project,
                                             .what = what,
                                             .detail = detail };
    char error[STORE_ERROR_SIZE];
    if (!access_has_users(collector->access) ||
        store_audit_add(collector->store, &entry, error) == CH_OK)
        return true;
    http_fail(request, 503, "the store could not note this, try again later");
    return false;
}
