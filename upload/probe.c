// SPDX-License-Identifier: Apache-2.0
#include "upload/probe.h"

#include <stdio.h>
#include <string.h>

#include "net/http.h"
#include "report/value/report.h"
#include "upload/protocol.h"

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

enum ch_status probe_target(const struct target *target,
                            const struct probe_credentials *credentials, char *why,
                            size_t size)
{
    const struct protocol *protocol = protocol_of(target->kind);
    const struct shipment shipment = { .token = credentials->token,
                                       .otlp_headers = credentials->otlp_headers };
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
