// SPDX-License-Identifier: Apache-2.0
#include "upload/collector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "report/report.h"

enum { COMPRESSION_LEVEL = 3 };

static void drop_json(json_t *const *value)
{
    json_decref(*value);
}

static enum ch_status compress(const char *bytes, size_t size, struct text *out)
{
    size_t bound = ZSTD_compressBound(size);
    char *packed = malloc(bound);
    if (packed == NULL)
        return CH_ERR_NO_MEMORY;
    size_t count = ZSTD_compress(packed, bound, bytes, size, COMPRESSION_LEVEL);
    if (!ZSTD_isError(count))
        text_append(out, packed, count);
    free(packed);
    return text_ok(out) && !ZSTD_isError(count) ? CH_OK : CH_ERR_NO_MEMORY;
}

// said copies the collector's own words, which nobody vouches for, into one plain line.
static void said(const json_t *answer, char *to, size_t size)
{
    const char *text = report_string(answer, "error");
    size_t length = 0;
    for (; text != NULL && *text != 0 && length + 1 < size; text++)
        to[length++] = *text >= ' ' && *text <= '~' ? *text : '?';
    to[length] = 0;
}

static bool temporary(int status)
{
    return status >= 500 || status == 408 || status == 425 || status == 429;
}

// refused_access: the token is wrong, which whoever runs this can put right.
static bool refused_access(int status)
{
    return status == 401 || status == 403 || status == 407;
}

static void judge_taken(const json_t *answer, const char *id,
                        struct collector_verdict *out)
{
    const char *taken = report_string(answer, "id");
    if (taken != NULL && strcmp(taken, id) == 0) {
        out->state = TARGET_SENT;
        return;
    }
    out->target_down = true;
    (void)snprintf(out->why, sizeof(out->why),
                   "its answer is not a collector's; is the address right?");
}

void collector_judge(const struct http_reply *reply, const char *id,
                     struct collector_verdict *out)
{
    char words[128] = "";
    *out = (struct collector_verdict){ .state = TARGET_PENDING,
                                       .retry_after_s = reply->retry_after_s };
    json_t *CH_CLEANUP(drop_json) answer =
        reply->body.size != 0 ? json_loadb(reply->body.bytes, reply->body.size, 0, NULL)
                              : NULL;
    if (reply->status >= 200 && reply->status < 300) {
        judge_taken(answer, id, out);
        return;
    }
    said(answer, words, sizeof(words));
    const char *colon = words[0] != 0 ? ": " : "";
    if (temporary(reply->status) || refused_access(reply->status)) {
        out->target_down = true;
        (void)snprintf(out->why, sizeof(out->why), "it answered %d%s%s", reply->status,
                       colon, words);
    } else if (reply->status >= 400) {
        out->state = TARGET_FAILED;
        (void)snprintf(out->why, sizeof(out->why), "it refused the report with %d%s%s",
                       reply->status, colon, words);
    } else {
        out->target_down = true;
        (void)snprintf(out->why, sizeof(out->why),
                       "it answered %d; redirects are not followed", reply->status);
    }
}

void collector_send(const struct target *target, const struct collector_report *report,
                    uint64_t timeout_ms, struct collector_verdict *out)
{
    struct text CH_CLEANUP(text_deinit) packed = { 0 };
    struct text CH_CLEANUP(text_deinit) url = { 0 };
    struct http_reply CH_CLEANUP(http_reply_deinit) reply = { 0 };
    text_appendf(&url, "%s/api/v1/reports", target->url);
    *out = (struct collector_verdict){ .state = TARGET_PENDING, .retry_after_s = -1 };
    if (compress(report->json, report->size, &packed) != CH_OK || !text_ok(&url)) {
        (void)snprintf(out->why, sizeof(out->why), "out of memory");
        return;
    }
    const struct http_request request = { .url = url.bytes,
                                          .token = report->token,
                                          .encoding = "zstd",
                                          .body = packed.bytes,
                                          .size = packed.size,
                                          .timeout_ms = timeout_ms };
    if (http_send(&request, &reply) != CH_OK) {
        out->target_down = true;
        (void)snprintf(out->why, sizeof(out->why), "%s", reply.error);
        return;
    }
    collector_judge(&reply, report->id, out);
}
