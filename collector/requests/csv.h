// SPDX-License-Identifier: Apache-2.0
//
// Lists in other forms than one JSON value: comma-separated values (RFC 4180) for
// spreadsheets, and a JSON value a line (NDJSON) for programs. A value that a
// spreadsheet would take for a formula is preceded by an apostrophe: all values come
// from strangers.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "collector/server/http.h"

enum list_form { LIST_JSON, LIST_CSV, LIST_LINES };

// csv_read_form reads the parameter `form`. False: it is not `json`, `csv` or `ndjson`,
// and the request failed.
bool csv_read_form(struct http_request *request, enum list_form *out);

// csv_append_line appends a value, which it releases, as a line of JSON.
void csv_append_line(struct text *out, json_t *json);

// csv_append and csv_append_number append a value; last: it ends its row.
void csv_append(struct text *out, const char *value, bool last);
void csv_append_number(struct text *out, int64_t number, bool last);

// csv_answer answers with what the body has in a form other than LIST_JSON. Browsers
// keep it as a file of that name, such as `groups.csv`.
void csv_answer(struct http_request *request, enum list_form form, const char *name);
