// SPDX-License-Identifier: Apache-2.0
//
// The collector's protocol: POST BASE/api/v1/reports with the report as JSON,
// compressed with zstd, and what the answer means for the report. The same report may
// be sent any number of times; the collector recognizes it by its id.
#include <string.h>

#include "report/value/report.h"
#include "upload/protocol.h"

void collector_judge(const struct http_reply *reply, const char *id,
                     struct verdict *out)
{
    json_auto_t *answer = verdict_answer(reply);
    verdict_begin(out);
    out->wait_s = reply->retry_after_s;
    const char *error = report_string(answer, "error");
    if (reply->status < 200 || reply->status >= 300) {
        verdict_refused(reply, "the report", error, out);
        // A proxy in front of a collector that is being replaced answers 404, and one
        // that is asked in the wrong way 400. What is too large for it stays so.
        if (out->state == TARGET_FAILED && error == NULL && reply->status != 413)
            verdict_down(out,
                         "its answer (%d) is not a collector's; is the address"
                         " right?",
                         reply->status);
        return;
    }
    const char *taken = report_string(answer, "id");
    if (taken != NULL && strcmp(taken, id) == 0)
        out->state = TARGET_SENT;
    else
        verdict_down(out, "its answer is not a collector's; is the address right?");
}

static void write_report_url(const struct target *target, struct text *out)
{
    text_appendf(out, "%s/api/v1/reports", target->url);
}

void collector_ask(const struct target *target, const struct shipment *shipment,
                   struct shipment_question *out)
{
    write_report_url(target, &out->url);
    text_append_string(&out->body,
                       "{\"schema\":\"" REPORT_SCHEMA_EXPANDED "\",\"id\":\"doctor\","
                       "\"revision\":0,\"time\":\"2026-01-01T00:00:00.000Z\","
                       "\"threads\":[],\"images\":[]}");
    out->content_type = "application/json";
    out->token = shipment->token;
}

// send_body posts size bytes of JSON. It returns CH_ERR_NO_MEMORY, or what http_send
// does.
static enum ch_status send_body(const struct target *target,
                                const struct shipment *shipment, const char *bytes,
                                size_t size, struct http_reply *reply)
{
    struct text CH_CLEANUP(text_deinit) packed = { 0 };
    struct text CH_CLEANUP(text_deinit) url = { 0 };
    write_report_url(target, &url);
    if (packing_zstd(bytes, size, &packed) != CH_OK || !text_ok(&url))
        return CH_ERR_NO_MEMORY;
    const struct http_request request = { .url = url.bytes,
                                          .token = shipment->token,
                                          .content_type = "application/json",
                                          .encoding = "zstd",
                                          .body = packed.bytes,
                                          .size = packed.size,
                                          .timeout_ms = shipment->timeout_ms,
                                          .progress = shipment->progress,
                                          .context = shipment->context };
    return http_send(&request, reply);
}

static enum ch_status send_expanded(const struct target *target,
                                    const struct shipment *shipment,
                                    struct http_reply *reply)
{
    struct text CH_CLEANUP(text_deinit) json = { 0 };
    enum ch_status status = report_print_expanded(shipment->report, &json);
    return status == CH_OK ? send_body(target, shipment, json.bytes, json.size, reply)
                           : status;
}

// refuses_schema is true for the answer of a collector that is older than this version
// of reports.
static bool refuses_schema(const struct http_reply *reply)
{
    json_auto_t *answer = verdict_answer(reply);
    const char *error = report_string(answer, "error");
    return reply->status == 400 && error != NULL && strstr(error, "schema") != NULL;
}

void collector_send(const struct target *target, const struct shipment *shipment,
                    struct verdict *out)
{
    struct http_reply CH_CLEANUP(http_reply_deinit) reply = { 0 };
    bool expand = shipment->expand;
    verdict_begin(out);
    enum ch_status status =
        expand ? send_expanded(target, shipment, &reply)
               : send_body(target, shipment, shipment->json, shipment->size, &reply);
    if (status == CH_OK && !expand && refuses_schema(&reply)) {
        http_reply_deinit(&reply);
        reply = (struct http_reply){ 0 };
        expand = true;
        status = send_expanded(target, shipment, &reply);
    }
    if (status == CH_ERR_LIMIT)
        verdict_rejected(out, "it takes version 1 alone, and that would be too large");
    else if (status == CH_ERR_NO_MEMORY)
        verdict_down(out, "out of memory");
    else if (status != CH_OK)
        verdict_down(out, "%s", reply.error);
    else
        collector_judge(&reply, shipment->id, out);
    out->expanded = expand && !shipment->expand && out->state == TARGET_SENT;
}
