// SPDX-License-Identifier: Apache-2.0
#include "upload/collector.h"

#include <string.h>

#include "report/report.h"
#include "upload/packing.h"

static void drop_json(json_t *const *value)
{
    json_decref(*value);
}

void collector_judge(const struct http_reply *reply, const char *id,
                     struct verdict *out)
{
    json_t *CH_CLEANUP(drop_json) answer = verdict_answer(reply);
    verdict_begin(out);
    out->wait_s = reply->retry_after_s;
    if (reply->status < 200 || reply->status >= 300) {
        verdict_refused(reply, "the report", report_string(answer, "error"), out);
        return;
    }
    const char *taken = report_string(answer, "id");
    if (taken != NULL && strcmp(taken, id) == 0)
        out->state = TARGET_SENT;
    else
        verdict_down(out, "its answer is not a collector's; is the address right?");
}

void collector_write_url(const struct target *target, struct text *out)
{
    text_appendf(out, "%s/api/v1/reports", target->url);
}

void collector_send(const struct target *target, const struct shipment *shipment,
                    struct verdict *out)
{
    struct text CH_CLEANUP(text_deinit) packed = { 0 };
    struct text CH_CLEANUP(text_deinit) url = { 0 };
    struct http_reply CH_CLEANUP(http_reply_deinit) reply = { 0 };
    collector_write_url(target, &url);
    verdict_begin(out);
    if (packing_zstd(shipment->json, shipment->size, &packed) != CH_OK ||
        !text_ok(&url)) {
        verdict_down(out, "out of memory");
        return;
    }
    const struct http_request request = { .url = url.bytes,
                                          .token = shipment->token,
                                          .content_type = "application/json",
                                          .encoding = "zstd",
                                          .body = packed.bytes,
                                          .size = packed.size,
                                          .timeout_ms = shipment->timeout_ms,
                                          .progress = shipment->progress,
                                          .context = shipment->context };
    if (http_send(&request, &reply) != CH_OK)
        verdict_down(out, "%s", reply.error);
    else
        collector_judge(&reply, shipment->id, out);
}
