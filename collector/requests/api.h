// SPDX-License-Identifier: Apache-2.0
//
// The handlers of /api/v1, /metrics, /healthz and /readyz, for the table of routes.
// What each of them takes and answers is described in docs/reference/collector-api.md.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "collector/server/http.h"

// Reports. api_begin_report refuses, before its body, one of a token that sent too
// many; api_get_report answers with it as sent, or with every name that can be found.
http_handle_fn api_begin_report;
http_handle_fn api_post_report;
http_handle_fn api_list_reports;
http_handle_fn api_get_report;
http_handle_fn api_erase_reports; // all of a host or with a tag

// Minidumps: in a form, as Crashpad and Breakpad send them, or in an envelope, as
// Sentry's clients do.
http_handle_fn api_post_minidump;
http_handle_fn api_post_envelope;

// Groups, the values that reports carry, and searches with a name. api_post_group
// applies what people decided, and answers with the group.
http_handle_fn api_list_groups;
http_handle_fn api_get_group;
http_handle_fn api_post_group;
http_handle_fn api_list_facets;
http_handle_fn api_list_searches;
http_handle_fn api_post_search;
http_handle_fn api_remove_search;

// Alerts, who is notified of them, and which receivers the store has. api_test_alert
// sends one of these a test.
http_handle_fn api_list_alerts;
http_handle_fn api_test_alert;
http_handle_fn api_post_receiver;
http_handle_fn api_remove_receiver;

// What a spool counted and, by release and host, how many sessions crashed; the order
// of a program's releases; the commits of a release, and the owners of a program's
// files; the machines that crashed; the builds whose names reports lack.
http_handle_fn api_post_starts;
http_handle_fn api_list_starts;
http_handle_fn api_post_releases;
http_handle_fn api_list_releases;
http_handle_fn api_post_commits;
http_handle_fn api_list_machines;
http_handle_fn api_list_missing;

// Debug files, and source bundles of builds. One is received before its body, for each
// piece of it, and once it is complete. api_get_build is a debuginfod server:
// /buildid/ID/debuginfo, /buildid/ID/executable, /buildid/ID/section/NAME and
// /buildid/ID/source/PATH. api_get_symbol_key is one of SSQP. api_remove_symbols
// removes those of a release.
http_handle_fn api_get_symbols;
http_handle_fn api_begin_symbols;
void api_take_symbols(struct http_request *request, const void *bytes, size_t size);
http_handle_fn api_put_symbols;
http_handle_fn api_get_sources;
http_handle_fn api_begin_sources;
http_handle_fn api_get_build;
http_handle_fn api_get_symbol_key;
http_handle_fn api_remove_symbols;

// Who did what, tokens, and copies of the store.
http_handle_fn api_list_audit;
http_handle_fn api_list_tokens;
http_handle_fn api_make_token;
http_handle_fn api_revoke_token;
http_handle_fn api_begin_backup;
http_handle_fn api_get_backup;

// api_post_ticket receives events of issue trackers. api_ticket_check returns what is
// wrong with the file of their secrets, in why, or NULL.
http_handle_fn api_post_ticket;
const char *api_ticket_check(const char *path, char *why, size_t size);

// api_metrics answers with the counters, api_health with whether the program works, and
// api_ready with whether reports can be stored; neither of these waits for the store.
// api_describe describes all of these requests in the OpenAPI format.
http_handle_fn api_metrics;
http_handle_fn api_health;
http_handle_fn api_ready;
http_handle_fn api_describe;

// api_audit notes what the request's sender does, where senders have names; false:
// that failed, and so did the request.
bool api_audit(struct http_request *request, const char *what, const char *detail);

// api_timestamp_json is a time as RFC 3339 writes it.
json_t *api_timestamp_json(int64_t time_ms);

// api_body_json is the body as JSON, which the caller owns; NULL: it is none, or an
// object in it has a key twice.
json_t *api_body_json(const struct http_request *request);

// api_answer_json answers with a value, which it releases.
void api_answer_json(struct http_request *request, unsigned status, json_t *json);

// api_answer_store answers with a value, which it releases, if status is CH_OK; else as
// api_fail_store does.
void api_answer_store(struct http_request *request, enum ch_status status,
                      const char *what, json_t *json);

// api_fail_store answers for a store that returned status; what names what was
// requested.
void api_fail_store(struct http_request *request, enum ch_status status,
                    const char *what);

// Lists in other forms than one JSON value: comma-separated values (RFC 4180) for
// spreadsheets, and a JSON value a line (NDJSON) for programs. A value that a
// spreadsheet would take for a formula is preceded by an apostrophe: all values come
// from strangers.

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
