// SPDX-License-Identifier: Apache-2.0
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "cli/doctor/doctor.h"
#include "cli/session/delivery.h"
#include "net/http.h"
#include "report/value/report.h"
#include "upload/protocol.h"
#include "upload/target.h"

// A check whether a target would take a report from us, before any report depends on
// it.
//
// The request goes where reports go, with the credentials of reports, but contains no
// report that can be stored: a collector is sent a whole one, which it judges like any
// other and refuses in the end, because its id is none; Sentry an envelope which says
// that no event was discarded; a log intake a request without a record. User: doctor.

// probe_credentials is what gives reports access.
struct probe_credentials {
    const char *token;        // for collectors; NULL: none
    const char *otlp_headers; // for log intakes; NULL: none
    bool otlp_protobuf;
};

enum {
    PROBE_TIMEOUT_MS = 5000,
    BAD_REQUEST = 400,
    UNAUTHORIZED = 401,
    FORBIDDEN = 403,
    PROXY_UNAUTHORIZED = 407,
};

// is_taken is true for the answer of a server that would have taken a report.
static bool is_taken(const struct protocol *protocol, int status, const char *said)
{
    if (status >= 200 && status < 300)
        return protocol->takes_questions;
    return protocol->refuses_questions && status == BAD_REQUEST && said != NULL &&
           (protocol->refusal == NULL || strstr(said, protocol->refusal) != NULL);
}

static enum ch_status judge_probe_answer(const struct protocol *protocol,
                                         const struct http_reply *reply, char *why,
                                         size_t size)
{
    json_auto_t *answer = verdict_answer(reply);
    const char *said = protocol->words == NULL ? reply->body.bytes
                                               : report_string(answer, protocol->words);
    int status = reply->status;
    if (is_taken(protocol, status, said)) {
        (void)snprintf(why, size, "takes reports");
        return CH_OK;
    }
    if (status == UNAUTHORIZED || status == FORBIDDEN || status == PROXY_UNAUTHORIZED) {
        struct verdict verdict;
        verdict_begin(&verdict);
        verdict_refused(reply, "us", said, &verdict);
        (void)snprintf(why, size, "lets no report in: %s", verdict.why);
        return CH_ERR_UNSUPPORTED;
    }
    if (status == BAD_REQUEST && said != NULL) {
        (void)snprintf(why, size, "refuses every report: %.200s", said);
        return CH_ERR_NOT_FOUND;
    }
    if (status >= 500 || status == 429)
        (void)snprintf(why, size, "cannot take reports now: it answers %d", status);
    else
        (void)snprintf(why, size, "is no %s: it answers %d", protocol->name, status);
    return CH_ERR_NOT_FOUND;
}

// probe_target sends the request to target, waits a few seconds at most, and writes the
// result to why ("takes reports", or the reason why not). CH_ERR_NOT_FOUND: there is no
// answer, or the server is something else. CH_ERR_UNSUPPORTED: it refuses us.
CH_CHECKED static enum ch_status
probe_target(const struct target *target, const struct probe_credentials *credentials,
             char *why, size_t size)
{
    const struct protocol *protocol = protocol_of(target->kind);
    const struct shipment shipment = { .token = credentials->token,
                                       .otlp_headers = credentials->otlp_headers,
                                       .otlp_protobuf = credentials->otlp_protobuf };
    struct shipment_question question = { .token = NULL };
    struct http_reply CH_CLEANUP(http_reply_deinit) reply = { 0 };
    enum ch_status status = CH_ERR_NOT_FOUND;
    protocol->ask(target, &shipment, &question);
    const struct http_request request = {
        .url = question.url.bytes,
        .token = question.token,
        .content_type = question.content_type,
        .headers = question.headers.size != 0 ? question.headers.bytes : NULL,
        .body = question.body.bytes,
        .size = question.body.size,
        .timeout_ms = PROBE_TIMEOUT_MS,
    };
    if (!text_ok(&question.url) || !text_ok(&question.body) ||
        !text_ok(&question.headers))
        (void)snprintf(why, size, "cannot be asked: out of memory");
    else if (http_send(&request, &reply) != CH_OK)
        (void)snprintf(why, size, "does not answer: %s", reply.error);
    else
        status = judge_probe_answer(protocol, &reply, why, size);
    text_deinit(&question.url);
    text_deinit(&question.body);
    text_deinit(&question.headers);
    http_close();
    return status;
}

// note_complaint notes what keeps a delivery from using its settings.
static void note_complaint(void *context, const char *line)
{
    struct doctor_finding *out = context;
    text_appendf(&out->line, "%s%s", out->line.size != 0 ? "; " : "", line);
}

// note_checked_target sends a request to a target, and notes the result.
static bool note_checked_target(const struct delivery *delivery,
                                const struct target *target, struct doctor_finding *out)
{
    const struct probe_credentials credentials = {
        .token = delivery->queue.token,
        .otlp_headers = delivery->queue.otlp_headers,
        .otlp_protobuf = delivery->queue.otlp_protobuf,
    };
    char why[512];
    char line[1024];
    enum ch_status status = probe_target(target, &credentials, why, sizeof(why));
    (void)snprintf(line, sizeof(line), "%s %s", target->shown, why);
    note_complaint(out, line);
    bool no_token = credentials.token == NULL || credentials.token[0] == 0;
    if (status != CH_ERR_UNSUPPORTED)
        return status == CH_OK;
    if (target->kind == TARGET_KIND_COLLECTOR)
        text_append_string(&out->line, no_token ? " (no token is set)" : "");
    if (target->kind == TARGET_KIND_COLLECTOR)
        text_append_string(&out->fix, "export CRASHHOOK_TOKEN_FILE=FILE "
                                      "# that holds a token of the collector\n");
    if (target->kind == TARGET_KIND_OTLP)
        text_append_string(&out->fix, "export OTEL_EXPORTER_OTLP_HEADERS=NAME=VALUE "
                                      "# that the log intake asks for\n");
    return false;
}

enum doctor_verdict doctor_targets(struct doctor *doctor, struct doctor_finding *out)
{
    struct delivery delivery;
    if (doctor->session->settings.url == NULL) {
        text_append_string(&out->line,
                           "CRASHHOOK_URL is not set: reports stay in the spool");
        return DOCTOR_NOTE;
    }
    enum ch_status status =
        delivery_init(&delivery, doctor->session, note_complaint, out);
    bool fine = status == CH_OK && out->line.size == 0;
    for (size_t i = 0; status == CH_OK && i < delivery.queue.targets.count; i++)
        fine =
            note_checked_target(&delivery, &delivery.queue.targets.targets[i], out) &&
            fine;
    delivery_deinit(&delivery);
    // Nothing is lost yet, because what cannot be sent waits in the spool.
    return fine ? DOCTOR_FINE : DOCTOR_TROUBLE;
}
