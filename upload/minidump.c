// SPDX-License-Identifier: Apache-2.0
//
// A server that takes minidumps as the uploaders of Breakpad and Crashpad send them:
// POST of multipart/form-data to the address itself, with the file in
// upload_file_minidump and the annotations as other fields.
#include <string.h>

#include "net/http.h"
#include "report/value/report.h"
#include "upload/bodies/minidump_file.h"
#include "upload/protocol.h"

#define BOUNDARY "crashhook-part-of-"
#define FORM "multipart/form-data; boundary=" BOUNDARY

// begin_part writes the head of a field. Quotes and line breaks in a name are written
// as browsers write them.
static void begin_part(struct text *out, const char *id, const char *name,
                       const char *more)
{
    text_appendf(out, "--" BOUNDARY "%s\r\nContent-Disposition: form-data; name=\"",
                 id);
    for (; *name != 0; name++) {
        if (*name == '"' || *name == '\r' || *name == '\n')
            text_appendf(out, "%%%02X", (unsigned)*name);
        else
            text_append(out, name, 1);
    }
    text_appendf(out, "\"%s\r\n\r\n", more);
}

static enum ch_status write_minidump_form(const json_t *report, const char *id,
                                          struct text *out)
{
    struct text CH_CLEANUP(text_deinit) dump = { 0 };
    json_auto_t *facts = minidump_facts(report);
    enum ch_status status = minidump_file_write(report, &dump);
    if (status != CH_OK)
        return status;
    const char *key;
    json_t *value;
    json_object_foreach(facts, key, value)
    {
        begin_part(out, id, key, "");
        text_append_string(out, json_string_value(value));
        text_append_string(out, "\r\n");
    }
    begin_part(
        out, id, "upload_file_minidump",
        "; filename=\"crashhook.dmp\"\r\nContent-Type: application/octet-stream");
    text_append(out, dump.bytes, dump.size);
    text_appendf(out, "\r\n--" BOUNDARY "%s--\r\n", id);
    return text_ok(out) && facts != NULL ? CH_OK : CH_ERR_NO_MEMORY;
}

// judge_answer accepts the answers of servers: an id as text ("CrashID=bp-..."), or
// JSON. A page means that the address is not that of a server of minidumps.
static void judge_answer(const struct http_reply *reply, struct verdict *out)
{
    static const char discarded[] = "Discarded=";
    const char *said = reply->body.size != 0 ? reply->body.bytes : "";
    said += strspn(said, " \t\r\n");
    if (*said == '<')
        verdict_down(out, "its answer is no id of a minidump; is the address right?");
    else if (strncmp(said, discarded, sizeof(discarded) - 1) == 0)
        verdict_rejected(out, said + sizeof(discarded) - 1);
    else
        out->state = TARGET_SENT;
}

static void minidump_judge(const struct http_reply *reply, struct verdict *out)
{
    json_auto_t *answer = verdict_answer(reply);
    const char *said = report_string(answer, "detail");
    verdict_begin(out);
    out->wait_s = reply->retry_after_s;
    if (reply->status >= 200 && reply->status < 300)
        judge_answer(reply, out);
    else
        verdict_refused(reply, "the minidump",
                        said != NULL ? said : report_string(answer, "error"), out);
}

void minidump_ask(const struct target *target, const struct shipment *shipment,
                  struct shipment_question *out)
{
    (void)shipment;
    text_append_string(&out->url, target->url);
    begin_part(&out->body, "doctor", "prod", "");
    text_append_string(&out->body, "crashhook\r\n--" BOUNDARY "doctor--\r\n");
    out->content_type = FORM "doctor";
}

void minidump_send(const struct target *target, const struct shipment *shipment,
                   struct verdict *out)
{
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    struct text CH_CLEANUP(text_deinit) packed = { 0 };
    struct text CH_CLEANUP(text_deinit) type = { 0 };
    struct http_reply CH_CLEANUP(http_reply_deinit) reply = { 0 };
    struct http_request request = { .url = target->url,
                                    .timeout_ms = shipment->timeout_ms,
                                    .progress = shipment->progress,
                                    .context = shipment->context };
    verdict_begin(out);
    text_appendf(&type, FORM "%s", shipment->id);
    request.content_type = type.bytes;
    enum ch_status status = write_minidump_form(shipment->report, shipment->id, &body);
    if (status == CH_OK)
        status = packing_body(&body, &packed, &request);
    if (status == CH_ERR_UNSUPPORTED) {
        out->state = TARGET_FAILED;
        (void)snprintf(out->why, sizeof(out->why),
                       "it takes minidumps, and this report has no registers");
    } else if (status != CH_OK || !text_ok(&type)) {
        verdict_down(out, "out of memory");
    } else if (http_send(&request, &reply) != CH_OK) {
        verdict_down(out, "%s", reply.error);
    } else {
        minidump_judge(&reply, out);
    }
}
