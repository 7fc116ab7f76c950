// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/csv.h"

#include <string.h>

bool csv_is_wanted(struct http_request *request, bool *out)
{
    const char *form = http_parameter_value(request, "form");
    *out = form != NULL && strcmp(form, "csv") == 0;
    if (form == NULL || form[0] == 0 || *out || strcmp(form, "json") == 0)
        return true;
    http_fail(request, 400, "form is not `json` or `csv`");
    return false;
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

void csv_answer(struct http_request *request, const char *name)
{
    request->answer.status = 200;
    request->answer.content_type = "text/csv; charset=utf-8";
    request->answer.file_name = name;
}
