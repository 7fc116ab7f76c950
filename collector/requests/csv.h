// SPDX-License-Identifier: Apache-2.0
//
// Answers as comma-separated values (RFC 4180) for spreadsheets. A value that a
// spreadsheet would take for a formula is preceded by an apostrophe: all values come
// from strangers.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "collector/server/http.h"

// csv_is_wanted reads the parameter `form`. False: it is neither `csv` nor `json`, and
// the request failed.
bool csv_is_wanted(struct http_request *request, bool *out);

// csv_append and csv_append_number append a value; last: it ends its row.
void csv_append(struct text *out, const char *value, bool last);
void csv_append_number(struct text *out, int64_t number, bool last);

// csv_answer answers with what the body has. Browsers keep it as a file of that name.
void csv_answer(struct http_request *request, const char *name);
