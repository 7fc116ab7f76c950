// SPDX-License-Identifier: Apache-2.0
#include "upload/probe.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "report/report.h"
#include "upload/collector.h"
#include "upload/http.h"
#include "upload/otlp.h"
#include "upload/sentry.h"
#include "upload/shipment.h"

enum {
    PROBE_TIMEOUT_MS = 5000,
    BAD_REQUEST = 400,
    UNAUTHORIZED = 401,
    FORBIDDEN = 403,
    PROXY_UNAUTHORIZED = 407,
};

// ask fills the request for target. The texts must outlive the request.
static void ask(const struct target *target,
                const struct probe_credentials *credentials, struct text *url,
                struct text *body, struct text *headers, struct http_request *out)
{
    *out = (struct http_request){ .content_type = "application/json",
                                  .timeout_ms = PROBE_TIMEOUT_MS };
    switch (target->kind) {
    case TARGET_KIND_COLLECTOR:
        collector_write_url(target, url);
        text_append_string(body, "{}");
        out->token = credentials->token;
        break;
    case TARGET_KIND_SENTRY:
        sentry_write_request(target, url, headers);
        text_appendf(body,
                     "{}\n{\"type\":\"client_report\"}\n"
                     "{\"timestamp\":%lld,\"discarded_events\":[]}\n",
                     (long long)time(NULL));
        out->content_type = "application/x-sentry-envelope";
        break;
    case TARGET_KIND_OTLP:
        otlp_write_url(target, url);
        text_append_string(body, "{\"resourceLogs\":[]}");
        text_append_string(headers, credentials->otlp_headers != NULL
                                        ? credentials->otlp_headers
                                        : "");
        break;
    }
    out->url = url->bytes;
    out->body = body->bytes;
    out->size = body->size;
    out->headers = headers->size != 0 ? headers->bytes : NULL;
}

// is_taken is true for the answer of a server that would have taken a report.
static bool is_taken(const struct target *target, const struct http_reply *reply,
                     const char *said)
{
    bool accepted = reply->status >= 200 && reply->status < 300;
    if (target->kind == TARGET_KIND_COLLECTOR)
        return reply->status == BAD_REQUEST && said != NULL;
    // Old servers do not know this kind of item, but say so only after they checked the
    // key.
    if (target->kind == TARGET_KIND_SENTRY)
        return accepted || (reply->status == BAD_REQUEST && said != NULL);
    return accepted;
}

static enum ch_status judge_probe_answer(const struct target *target,
                                         const struct http_reply *reply, char *why,
                                         size_t size)
{
    static const char *const names[] = { [TARGET_KIND_COLLECTOR] = "collector",
                                         [TARGET_KIND_SENTRY] = "Sentry",
                                         [TARGET_KIND_OTLP] = "log intake" };
    static const char *const keys[] = { [TARGET_KIND_COLLECTOR] = "error",
                                        [TARGET_KIND_SENTRY] = "detail",
                                        [TARGET_KIND_OTLP] = "message" };
    json_auto_t *answer = verdict_answer(reply);
    const char *said = report_string(answer, keys[target->kind]);
    int status = reply->status;
    if (is_taken(target, reply, said)) {
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
    if (status >= 500 || status == 429)
        (void)snprintf(why, size, "cannot take reports now: it answers %d", status);
    else
        (void)snprintf(why, size, "is no %s: it answers %d", names[target->kind],
                       status);
    return CH_ERR_NOT_FOUND;
}

enum ch_status probe_target(const struct target *target,
                            const struct probe_credentials *credentials, char *why,
                            size_t size)
{
    struct text CH_CLEANUP(text_deinit) url = { 0 };
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    struct text CH_CLEANUP(text_deinit) headers = { 0 };
    struct http_reply CH_CLEANUP(http_reply_deinit) reply = { 0 };
    struct http_request request;
    enum ch_status status = CH_ERR_NOT_FOUND;
    ask(target, credentials, &url, &body, &headers, &request);
    if (!text_ok(&url) || !text_ok(&body) || !text_ok(&headers))
        (void)snprintf(why, size, "cannot be asked: out of memory");
    else if (http_send(&request, &reply) != CH_OK)
        (void)snprintf(why, size, "does not answer: %s", reply.error);
    else
        status = judge_probe_answer(target, &reply, why, size);
    http_close();
    return status;
}
