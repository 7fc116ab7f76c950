// SPDX-License-Identifier: Apache-2.0
//
// The protocol of an OpenTelemetry log intake: POST BASE/v1/logs with the record as
// JSON, and what the answer means. An intake does not recognize a record that was sent
// twice; the report's id is among the attributes.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/value/report.h"
#include "upload/bodies/otlp_logs.h"
#include "upload/bodies/protobuf_json.h"
#include "upload/protocol.h"

#define INTAKE "/v1/logs"

// is_rejected is true if the intake did not take the record. In OTLP's JSON 64-bit
// integers are strings, but some servers write numbers.
static bool is_rejected(const json_t *partial)
{
    const char *count = report_string(partial, "rejectedLogRecords");
    return report_integer(partial, "rejectedLogRecords", 0) > 0 ||
           (count != NULL && strtoll(count, NULL, 10) > 0);
}

static void judge_otlp_answer(const json_t *answer, bool empty, struct verdict *out)
{
    const json_t *partial = json_object_get(answer, "partialSuccess");
    if (!empty && !json_is_object(answer)) {
        verdict_down(out, "its answer is not a log intake's; is the address right?");
    } else if (is_rejected(partial)) {
        verdict_rejected(out, report_string(partial, "errorMessage"));
    } else {
        out->state = TARGET_SENT;
    }
}

#define JSON_TYPE "application/json"
#define PROTOBUF_TYPE "application/x-protobuf"

// otlp_read_answer reads an answer in either form; some intakes answer in JSON to
// protobuf.
static json_t *otlp_read_answer(const struct http_reply *reply, bool protobuf,
                                bool taken)
{
    if (!protobuf || reply->body.size == 0 ||
        strchr("{<", reply->body.bytes[0]) != NULL)
        return verdict_answer(reply);
    return taken ? otlp_protobuf_response(reply->body.bytes, reply->body.size)
                 : otlp_protobuf_status(reply->body.bytes, reply->body.size);
}

static void otlp_judge(const struct http_reply *reply, bool protobuf,
                       struct verdict *out)
{
    bool taken = reply->status >= 200 && reply->status < 300;
    json_auto_t *answer = otlp_read_answer(reply, protobuf, taken);
    verdict_begin(out);
    out->wait_s = reply->retry_after_s;
    if (taken)
        judge_otlp_answer(answer, reply->body.size == 0, out);
    else
        verdict_refused(reply, "the report", report_string(answer, "message"), out);
}

// write_intake_url leaves a URL alone that already ends in the intake's path.
static void write_intake_url(const struct target *target, struct text *out)
{
    const char *base = target->url;
    size_t length = strlen(base);
    size_t suffix = strlen(INTAKE);
    bool whole = length > suffix && strcmp(base + length - suffix, INTAKE) == 0;
    text_appendf(out, "%s%s", base, whole ? "" : INTAKE);
}

void otlp_ask(const struct target *target, const struct shipment *shipment,
              struct shipment_question *out)
{
    write_intake_url(target, &out->url);
    // In protobuf it is one empty message, because an empty body would be none.
    text_append_string(&out->body,
                       shipment->otlp_protobuf ? "\n" : "{\"resourceLogs\":[]}");
    if (shipment->otlp_protobuf)
        text_append(&out->body, "", 1);
    if (shipment->otlp_headers != NULL)
        text_append_string(&out->headers, shipment->otlp_headers);
    out->content_type = shipment->otlp_protobuf ? PROTOBUF_TYPE : JSON_TYPE;
}

void otlp_send(const struct target *target, const struct shipment *shipment,
               struct verdict *out)
{
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    struct text CH_CLEANUP(text_deinit) packed = { 0 };
    struct text CH_CLEANUP(text_deinit) url = { 0 };
    struct http_reply CH_CLEANUP(http_reply_deinit) reply = { 0 };
    struct http_request request = { .content_type = shipment->otlp_protobuf
                                                        ? PROTOBUF_TYPE
                                                        : JSON_TYPE,
                                    .headers = shipment->otlp_headers,
                                    .timeout_ms = shipment->timeout_ms,
                                    .progress = shipment->progress,
                                    .context = shipment->context };
    verdict_begin(out);
    write_intake_url(target, &url);
    enum ch_status status =
        otlp_logs_write(shipment->report, (int64_t)time(NULL) * 1000,
                        shipment->otlp_protobuf ? OTLP_PROTOBUF : OTLP_JSON, &body);
    if (status == CH_OK)
        status = packing_body(&body, &packed, &request);
    request.url = url.bytes;
    if (status != CH_OK || !text_ok(&url))
        verdict_down(out, "out of memory");
    else if (http_send(&request, &reply) != CH_OK)
        verdict_down(out, "%s", reply.error);
    else
        otlp_judge(&reply, shipment->otlp_protobuf, out);
}
