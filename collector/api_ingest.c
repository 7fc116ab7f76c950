// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/entry/entry_marks.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/requests/opened_report.h"
#include "collector/symbols/symbol_store.h"

// arrival is a report between its arrival and its commit; its entry, of many kilobytes,
// is filled when the report has been read.
struct arrival {
    struct ingest_item item; // first: ingest passes a pointer to it back
    struct entry entry;
    struct http_request *request; // NULL: answered before the store had returned
    struct text body;             // the request's then
    struct text room;             // for what is stored instead of the body
};

static void destroy_arrival(void *context)
{
    struct arrival *arrival = context;
    text_deinit(&arrival->body);
    text_deinit(&arrival->room);
    free(arrival);
}

// answer_arrival answers. Clients of others get what Crashpad takes: 200, and a body
// that it keeps as the report's id.
static void answer_arrival(struct arrival *arrival)
{
    struct http_request *request = arrival->request;
    bool added = arrival->item.upload.outcome == STORE_ADDED;
    if (request->route->access == HTTP_KEY) {
        request->answer.status = 200;
        request->answer.content_type = "text/plain; charset=utf-8";
        text_append_string(&request->answer.body, arrival->entry.id);
        return;
    }
    json_t *answer = json_pack("{s:s, s:s}", "id", arrival->entry.id, "group",
                               arrival->item.upload.group);
    api_answer_json(request, added ? 201 : 200, answer);
}

// refuse_unstored answers that a report may not have been stored.
static void refuse_unstored(struct http_request *request)
{
    metrics_count(&collector_of(request)->metrics.store_failures);
    http_later(request, 503, 0, "the report could not be stored, send it later");
    http_resume(request);
}

// on_late answers while the store still works on the report, which therefore outlives
// its request.
static void on_late(struct ingest_item *item)
{
    struct arrival *arrival = (struct arrival *)item;
    struct http_request *request = arrival->request;
    arrival->body = request->body;
    request->body = (struct text){ 0 };
    request->state_destroy = NULL;
    arrival->request = NULL;
    refuse_unstored(request);
}

// on_stored runs when the report is durable or was refused.
static void on_stored(struct ingest_item *item)
{
    struct arrival *arrival = (struct arrival *)item;
    struct http_request *request = arrival->request;
    if (request == NULL) {
        destroy_arrival(arrival);
        return;
    }
    struct metrics *metrics = &collector_of(request)->metrics;
    if (item->status == CH_OK) {
        metrics_count(&metrics->outcomes[item->upload.outcome]);
        load_stored(&collector_of(request)->load, 1, timestamp_now());
        answer_arrival(arrival);
        http_resume(request);
    } else {
        refuse_unstored(request);
    }
}

static void refuse_upload(struct http_request *request, enum ch_status status)
{
    if (status == CH_ERR_LIMIT)
        http_later(request, 429, 0, "too many reports are waiting, send it later");
    else
        http_later(request, 503, 0, "the collector is stopping");
}

// hide_user replaces the name of the report's user by a pseudonym, in its tree and in
// its JSON, which goes to out then. It returns false after it has failed the request.
static bool hide_user(struct http_request *request, const struct opened_report *opened,
                      struct text *out)
{
    const struct collector *collector = collector_of(request);
    if (collector->plain_users)
        return true;
    enum ch_status status =
        user_name_hide_in(collector->user_salt, request->who.project, opened->json,
                          opened->text.bytes, opened->text.size, out);
    if (status == CH_ERR_MALFORMED)
        http_fail(request, 400,
                  "the tag `user` has to be a string, and its keys without escapes");
    else if (status != CH_OK)
        http_fail(request, 503, "out of memory");
    return status == CH_OK;
}

// replace_body has the JSON in which the user is hidden stored, unless it was
// compressed, and nothing of what was sent.
static void replace_body(struct http_request *request, struct arrival *arrival,
                         struct text *hidden)
{
    struct store_upload *upload = &arrival->item.upload;
    text_deinit(&request->body);
    request->body = *hidden;
    *hidden = (struct text){ 0 };
    if (upload->body == arrival->room.bytes)
        return;
    upload->body = request->body.bytes;
    upload->body_size = request->body.size;
    upload->encoding = DECODE_IDENTITY;
}

// summarize_upload opens the body and fills the arrival's entry, or fails the request.
static bool summarize_upload(struct http_request *request, struct arrival *arrival)
{
    struct collector *collector = collector_of(request);
    struct opened_report opened;
    struct opened_report_error error;
    struct store_body body = { .bytes = request->body.bytes,
                               .size = request->body.size,
                               .encoding = arrival->item.upload.encoding };
    unsigned refused =
        opened_report_open_brief(&opened, &body, collector_large(request), &error);
    if (refused == OPENED_REPORT_LARGE) {
        http_move_large(request);
        return false;
    }
    if (refused != 0) {
        http_fail(request, refused, "%s", error.text);
        return false;
    }
    struct text CH_CLEANUP(text_deinit) hidden = { 0 };
    if (!hide_user(request, &opened, &hidden)) {
        opened_report_close(&opened);
        return false;
    }
    enum ch_status status =
        entry_from_report(opened.json, timestamp_now(), &arrival->entry);
    if (status == CH_OK) {
        entry_marks_from_report(opened.json, &arrival->entry);
        entry_set_project(&arrival->entry, request->who.project);
        if (request->who.named)
            entry_copy(arrival->entry.sender, sizeof(arrival->entry.sender),
                       request->who.name);
        const char *json = hidden.size != 0 ? hidden.bytes : opened.text.bytes;
        size_t size = hidden.size != 0 ? hidden.size : opened.text.size;
        store_compress_body(collector->store, json, size, &arrival->item.upload,
                            &arrival->room);
    }
    opened_report_close(&opened);
    if (status == CH_OK && hidden.size != 0)
        replace_body(request, arrival, &hidden);
    for (size_t i = 0; status == CH_OK && i < arrival->entry.nameless_count; i++)
        arrival->entry.names_wanted =
            arrival->entry.names_wanted ||
            symbol_store_has(collector->symbols, arrival->entry.project,
                             SYMBOL_DEBUG_FILE, arrival->entry.nameless[i]);
    if (status != CH_OK)
        http_fail(request, 400, "the report's id is not a UUID in lower case");
    return status == CH_OK;
}

void api_begin_report(struct http_request *request)
{
    struct collector *collector = collector_of(request);
    struct access_project project;
    const char *who = "token";
    int64_t now_ms = timestamp_now();
    unsigned wait_s = rate_take(&collector->rate, request->who.index, now_ms);
    if (wait_s == 0 &&
        access_find_project(collector->access, request->who.project, &project)) {
        wait_s = rate_take_of(&collector->project_rates, project.index, &project.rate,
                              now_ms);
        who = "project";
    }
    if (wait_s == 0)
        return;
    http_later(request, 429, wait_s,
               "this %s sends more reports than it may, wait %u s", who, wait_s);
}

void api_post_report(struct http_request *request)
{
    struct collector *collector = collector_of(request);
    struct arrival *arrival = request->state; // of the first try, if it was moved
    if (arrival == NULL)
        arrival = calloc(1, sizeof(*arrival));
    if (arrival == NULL) {
        http_fail(request, 503, "out of memory");
        return;
    }
    request->state = arrival;
    request->state_destroy = destroy_arrival;
    arrival->request = request;
    arrival->item = (struct ingest_item){ .done = on_stored, .late = on_late };
    arrival->item.upload.entry = &arrival->entry;
    arrival->item.upload.body = request->body.bytes;
    arrival->item.upload.body_size = request->body.size;
    if (decode_encoding_named(request->content_encoding,
                              &arrival->item.upload.encoding) != CH_OK) {
        http_fail(request, 415, "the Content-Encoding is not identity, gzip or zstd");
        return;
    }
    if (!summarize_upload(request, arrival))
        return;

    atomic_fetch_add(&collector->metrics.body_bytes, request->body.size);
    http_suspend(request);
    enum ch_status status = ingest_submit(collector->ingest, &arrival->item);
    if (status == CH_OK)
        return;
    refuse_upload(request, status);
    http_resume(request);
}
