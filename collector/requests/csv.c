// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/csv.h"

#include <stdlib.h>
#include <string.h>

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
