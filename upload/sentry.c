// SPDX-License-Identifier: Apache-2.0
#include "upload/sentry.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "report/spool/spool_wait.h"
#include "report/value/report.h"
#include "upload/bodies/sentry_envelope.h"
#include "upload/bodies/sentry_event.h"
#include "upload/shipment.h"

// read_seconds advances past digits and a fraction; false: there are no digits.
static bool read_seconds(const char **at, int64_t *out)
{
    int64_t seconds = 0;
    size_t digits = strspn(*at, "0123456789");
    for (size_t i = 0; i < digits && seconds < SPOOL_WAIT_MAX_S; i++)
        seconds = seconds * 10 + ((*at)[i] - '0');
    *at += digits;
    *at += **at == '.' ? 1 + strspn(*at + 1, "0123456789") : 0;
    *out = seconds < SPOOL_WAIT_MAX_S ? seconds : SPOOL_WAIT_MAX_S;
    return digits != 0;
}

// names returns true if category is in a list that ends at `:` or `,`.
static bool names(const char *list, const char *category)
{
    size_t length = strlen(category);
    for (;;) {
        size_t word = strcspn(list, ";:,");
        if (word == length && strncmp(list, category, length) == 0)
            return true;
        if (list[word] != ';')
            return false;
        list += word + 1;
    }
}

static void lengthen(int64_t *limit, int64_t seconds)
{
    if (seconds > *limit)
        *limit = seconds;
}

static void read_category_limit(const char *at, struct sentry_limits *limits)
{
    int64_t seconds = 0;
    at += strspn(at, " \t");
    if (!read_seconds(&at, &seconds) || *at != ':')
        return;
    at++;
    bool all = names(at, "");
    if (all || names(at, "error"))
        lengthen(&limits->events_s, seconds);
    if (all || names(at, "attachment"))
        lengthen(&limits->attachments_s, seconds);
}

struct sentry_limits sentry_limits_parse(const char *value)
{
    struct sentry_limits limits = { .events_s = -1, .attachments_s = -1 };
    while (value != NULL && *value != 0) {
        read_category_limit(value, &limits);
        value += strcspn(value, ",");
        value += *value == ',' ? 1 : 0;
    }
    return limits;
}

enum {
    TOO_MANY = 429,
    TOO_LARGE = 413,
    WAIT_UNSAID_S = 60, // after TOO_MANY without any time given
};

static void judge_sentry_answer(const json_t *answer, bool empty, const char *id,
                                struct verdict *out)
{
    char expected[SENTRY_EVENT_ID_SIZE];
    char taken[SENTRY_EVENT_ID_SIZE];
    const char *said = report_string(answer, "id");
    sentry_event_id(id, expected);
    sentry_event_id(said != NULL ? said : id, taken);
    // Some servers that speak this protocol answer with an empty body.
    if ((empty || json_is_object(answer)) && strcasecmp(taken, expected) == 0)
        out->state = TARGET_SENT;
    else
        verdict_down(out, "its answer is not Sentry's; is the address right?");
}

static void sentry_judge(const struct http_reply *reply, const char *id,
                         struct verdict *out)
{
    json_auto_t *answer = verdict_answer(reply);
    const struct sentry_limits limits = sentry_limits_parse(reply->kept.bytes);
    verdict_begin(out);
    out->attachments_wait_s = limits.attachments_s;
    out->wait_s = limits.events_s;
    if (reply->status >= 200 && reply->status < 300) {
        judge_sentry_answer(answer, reply->body.size == 0, id, out);
        return;
    }
    verdict_refused(reply, "the report", report_string(answer, "detail"), out);
    if (reply->kept.size == 0)
        out->wait_s = reply->retry_after_s;
    if (reply->status == TOO_MANY && reply->kept.size == 0 && out->wait_s < 0)
        out->wait_s = WAIT_UNSAID_S;
}

// write_request appends the URL to which envelopes are posted, and the header that
// lets one in.
static void write_request(const struct target *target, struct text *out_url,
                          struct text *out_headers)
{
    text_appendf(out_url, "%s/api/%s/envelope/", target->url, target->project);
    text_appendf(out_headers,
                 "X-Sentry-Auth: Sentry sentry_key=%s, sentry_version=7, "
                 "sentry_client=crashhook/" CRASHHOOK_VERSION,
                 target->key);
}

// post_envelope sends the envelope, with the report attached or without.
static enum ch_status post_envelope(const struct target *target,
                                    const struct shipment *shipment, bool attach,
                                    struct http_reply *reply)
{
    struct text CH_CLEANUP(text_deinit) envelope = { 0 };
    struct text CH_CLEANUP(text_deinit) packed = { 0 };
    struct text CH_CLEANUP(text_deinit) url = { 0 };
    struct text CH_CLEANUP(text_deinit) key = { 0 };
    struct http_request request = { .content_type = "application/x-sentry-envelope",
                                    .keep = "x-sentry-rate-limits",
                                    .timeout_ms = shipment->timeout_ms,
                                    .progress = shipment->progress,
                                    .context = shipment->context };
    write_request(target, &url, &key);
    enum ch_status status =
        sentry_envelope_write(shipment->report, attach ? shipment->json : NULL,
                              shipment->size, (int64_t)time(NULL) * 1000, &envelope);
    if (status == CH_OK)
        status = packing_body(&envelope, &packed, &request);
    if (status != CH_OK || !text_ok(&url) || !text_ok(&key))
        return CH_ERR_NO_MEMORY;
    request.url = url.bytes;
    request.headers = key.bytes;
    return http_send(&request, reply);
}

bool sentry_send_sessions(const struct target *target,
                          const struct sentry_sessions *sessions, uint64_t timeout_ms)
{
    struct text CH_CLEANUP(text_deinit) envelope = { 0 };
    struct text CH_CLEANUP(text_deinit) url = { 0 };
    struct text CH_CLEANUP(text_deinit) key = { 0 };
    struct http_reply CH_CLEANUP(http_reply_deinit) reply = { 0 };
    write_request(target, &url, &key);
    if (sentry_sessions_write(sessions, (int64_t)time(NULL) * 1000, &envelope) !=
            CH_OK ||
        !text_ok(&url) || !text_ok(&key))
        return false;
    const struct http_request request = { .url = url.bytes,
                                          .headers = key.bytes,
                                          .content_type =
                                              "application/x-sentry-envelope",
                                          .body = envelope.bytes,
                                          .size = envelope.size,
                                          .timeout_ms = timeout_ms };
    return http_send(&request, &reply) == CH_OK && reply.status >= 200 &&
           reply.status < 300;
}

void sentry_ask(const struct target *target, const struct shipment *shipment,
                struct shipment_question *out)
{
    (void)shipment;
    write_request(target, &out->url, &out->headers);
    text_appendf(&out->body,
                 "{}\n{\"type\":\"client_report\"}\n"
                 "{\"timestamp\":%lld,\"discarded_events\":[]}\n",
                 (long long)time(NULL));
    out->content_type = "application/x-sentry-envelope";
}

void sentry_send(const struct target *target, const struct shipment *shipment,
                 struct verdict *out)
{
    struct http_reply CH_CLEANUP(http_reply_deinit) reply = { 0 };
    verdict_begin(out);
    enum ch_status status = post_envelope(target, shipment, shipment->attach, &reply);
    if (status == CH_OK && reply.status == TOO_LARGE && shipment->attach) {
        http_reply_deinit(&reply);
        reply = (struct http_reply){ 0 };
        status = post_envelope(target, shipment, false, &reply);
    }
    if (status == CH_ERR_NO_MEMORY)
        verdict_down(out, "out of memory");
    else if (status != CH_OK)
        verdict_down(out, "%s", reply.error);
    else
        sentry_judge(&reply, shipment->id, out);
}
