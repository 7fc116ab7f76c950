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

// api_begin_report refuses, before its body, a report of a token that sent too many.
void api_begin_report(struct http_request *request);

// api_post_report takes a report into the store.
void api_post_report(struct http_request *request);

// api_post_minidump takes a minidump in a form, as Crashpad and Breakpad send it,
// api_post_envelope one in an envelope, as Sentry's clients do.
void api_post_minidump(struct http_request *request);
void api_post_envelope(struct http_request *request);

// api_list_reports lists reports as JSON.
void api_list_reports(struct http_request *request);

// api_get_report answers with one report: as sent, or with every name that can be
// found.
void api_get_report(struct http_request *request);

// api_list_groups lists groups as JSON.
void api_list_groups(struct http_request *request);

// api_list_searches, api_post_search and api_remove_search list, save and remove
// searches with a name.
void api_list_searches(struct http_request *request);
void api_post_search(struct http_request *request);
void api_remove_search(struct http_request *request);

// api_describe describes these requests in the OpenAPI format.
void api_describe(struct http_request *request);

// api_list_facets counts the values that reports carry.
void api_list_facets(struct http_request *request);

// api_get_group gives one group with its trend.
void api_get_group(struct http_request *request);

// api_post_group applies what people decided about a group, and answers with the group.
void api_post_group(struct http_request *request);

// api_list_alerts lists the latest alerts and who is told of them; api_test_alert sends
// one of these a test.
void api_list_alerts(struct http_request *request);
void api_test_alert(struct http_request *request);

// api_post_receiver and api_remove_receiver change which receivers the store has.
void api_post_receiver(struct http_request *request);
void api_remove_receiver(struct http_request *request);

// api_post_starts adds what a spool counted; api_list_starts lists, by release and
// host, how many of the sessions crashed.
void api_post_starts(struct http_request *request);
void api_list_starts(struct http_request *request);

// api_post_releases keeps the order of a program's releases that somebody declares;
// api_list_releases lists the releases of each program in their order.
void api_post_releases(struct http_request *request);
void api_list_releases(struct http_request *request);

// api_post_commits keeps the commits of a release, and the owners of a program's files.
void api_post_commits(struct http_request *request);

// api_list_machines lists the machines that crashed, api_list_missing the builds whose
// names reports lack.
void api_list_machines(struct http_request *request);
void api_list_missing(struct http_request *request);

// api_get_symbols sends a debug file back; a HEAD request learns its size.
void api_get_symbols(struct http_request *request);

// api_begin_symbols, api_take_symbols and api_put_symbols receive a debug file: before
// its body, for each piece of it, and once it is complete.
void api_begin_symbols(struct http_request *request);
void api_take_symbols(struct http_request *request, const void *bytes, size_t size);
void api_put_symbols(struct http_request *request);

// api_get_sources and api_begin_sources do the same for a build's source bundle, whose
// body is received by the functions above.
void api_get_sources(struct http_request *request);
void api_begin_sources(struct http_request *request);

// api_get_build is a debuginfod server: /buildid/ID/debuginfo, /buildid/ID/executable,
// /buildid/ID/section/NAME and /buildid/ID/source/PATH.
void api_get_build(struct http_request *request);

// api_remove_symbols removes the debug files and sources of a release.
void api_remove_symbols(struct http_request *request);

// api_list_audit lists who did what; api_erase_reports removes all reports of a host
// or with a tag.
void api_list_audit(struct http_request *request);
void api_erase_reports(struct http_request *request);

// api_list_tokens, api_make_token and api_revoke_token list, make and revoke tokens.
void api_list_tokens(struct http_request *request);
void api_make_token(struct http_request *request);
void api_revoke_token(struct http_request *request);

// api_post_ticket receives events of issue trackers. api_ticket_check returns what is
// wrong with the file of their secrets, in why, or NULL.
void api_post_ticket(struct http_request *request);
const char *api_ticket_check(const char *path, char *why, size_t size);

// api_begin_backup asks for a copy of the store, api_get_backup says how the last one
// goes.
void api_begin_backup(struct http_request *request);
void api_get_backup(struct http_request *request);

// api_audit notes what the request's sender does, where senders have names; false:
// that failed, and so did the request.
bool api_audit(struct http_request *request, const char *what, const char *detail);

// api_metrics answers with the counters, api_health with whether the program works, and
// api_ready with whether reports can be stored; neither of these waits for the store.
void api_metrics(struct http_request *request);
void api_health(struct http_request *request);
void api_ready(struct http_request *request);

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
