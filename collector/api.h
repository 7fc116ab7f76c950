// SPDX-License-Identifier: Apache-2.0
//
// The handlers of /api/v1, /metrics and /healthz, for the table of routes. What each
// takes and answers is docs/collector.md.
#pragma once
#include <jansson.h>

#include "collector/http.h"

// api_begin_report refuses a report of a token that has sent too many, before its body.
void api_begin_report(struct http_request *request);

// api_post_report takes a report into the store.
void api_post_report(struct http_request *request);

// api_list_reports lists reports as JSON.
void api_list_reports(struct http_request *request);

// api_get_report gives one report, named as well as can be, or as it was sent.
void api_get_report(struct http_request *request);

// api_list_groups lists groups as JSON.
void api_list_groups(struct http_request *request);

// api_get_group gives one group with its trend.
void api_get_group(struct http_request *request);

// api_post_group takes what people decided about a group, and answers with the group.
void api_post_group(struct http_request *request);

// api_get_symbols sends a debug file back; asked by HEAD it says how long that is.
void api_get_symbols(struct http_request *request);

// api_begin_symbols, api_take_symbols and api_put_symbols take a debug file: before its
// body, piece by piece, and when all of it is there.
void api_begin_symbols(struct http_request *request);
void api_take_symbols(struct http_request *request, const void *bytes, size_t size);
void api_put_symbols(struct http_request *request);

// api_get_sources and api_begin_sources do the same for a build's source bundle, whose
// body the functions above take.
void api_get_sources(struct http_request *request);
void api_begin_sources(struct http_request *request);

// api_metrics and api_health tell how the collector is.
void api_metrics(struct http_request *request);
void api_health(struct http_request *request);

// api_answer_json answers with a value, which it releases.
void api_answer_json(struct http_request *request, unsigned status, json_t *json);

// api_fail_store answers for a store that returned status; what is what was looked for.
void api_fail_store(struct http_request *request, enum ch_status status,
                    const char *what);
