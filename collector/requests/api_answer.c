// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/api.h"

#include <stdlib.h>
#include <string.h>

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

bool csv_read_form(struct http_request *request, enum list_form *out)
{
    static const char *const names[] = {
        [LIST_JSON] = "json",
        [LIST_CSV] = "csv",
        [LIST_LINES] = "ndjson",
    };
    const char *form = http_parameter_value(request, "form");
    *out = LIST_JSON;
    if (form == NULL || form[0] == 0)
        return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(form, names[i]) != 0)
            continue;
        *out = (enum list_form)i;
        return true;
    }
    http_fail(request, 400, "form is not `json`, `csv` or `ndjson`");
    return false;
}

void csv_append_line(struct text *out, json_t *json)
{
    char *dumped = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    text_append_string(out, dumped != NULL ? dumped : "{}");
    text_append_string(out, "\n");
    free(dumped);
}

void csv_append(struct text *out, const char *value, bool last)
{
    bool formula = value[0] != 0 && strchr("=+-@\t\r", value[0]) != NULL;
    bool quoted = strpbrk(value, ",\"\r\n") != NULL;
    text_append_string(out, quoted ? "\"" : "");
    text_append_string(out, formula ? "'" : "");
    for (; *value != 0; value++) {
        text_append_string(out, *value == '"' ? "\"" : "");
        text_append(out, value, 1);
    }
    text_append_string(out, quoted ? "\"" : "");
    text_append_string(out, last ? "\r\n" : ",");
}

void csv_append_number(struct text *out, int64_t number, bool last)
{
    text_appendf(out, "%lld%s", (long long)number, last ? "\r\n" : ",");
}

void csv_answer(struct http_request *request, enum list_form form, const char *name)
{
    bool csv = form == LIST_CSV;
    request->answer.status = 200;
    request->answer.content_type =
        csv ? "text/csv; charset=utf-8" : "application/x-ndjson";
    request->answer.file_name = csv ? name : NULL;
}
