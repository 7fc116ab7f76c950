// SPDX-License-Identifier: Apache-2.0
#include "upload/symbols.h"

#include <stdlib.h>
#include <string.h>

#include "report/value/report.h"
#include "upload/shipment.h"

static struct http_request request_for(const struct symbols_sending *sending,
                                       const char *method, const struct text *url)
{
    return (struct http_request){ .method = method,
                                  .url = url->bytes,
                                  .token = sending->token,
                                  .timeout_ms = sending->timeout_ms };
}

// symbols_is_known asks the collector for the size of its file.
static bool symbols_is_known(const struct symbols_sending *sending,
                             const struct symbols_file *file, const struct text *url)
{
    struct http_reply CH_CLEANUP(http_reply_deinit) reply = { 0 };
    struct http_request request = request_for(sending, "HEAD", url);
    request.keep = "content-length";
    if (http_send(&request, &reply) != CH_OK || reply.status != 200 ||
        reply.kept.size == 0)
        return false;
    char *end = NULL;
    unsigned long long size = strtoull(reply.kept.bytes, &end, 10);
    return *end == 0 && size == file->size;
}

static enum symbols_outcome judge_symbols_answer(const struct http_reply *reply,
                                                 char *why, size_t why_size)
{
    struct verdict verdict;
    json_auto_t *answer = verdict_answer(reply);
    if ((reply->status == 200 || reply->status == 201) && json_is_object(answer))
        return SYMBOLS_SENT;
    verdict_begin(&verdict);
    if (reply->status >= 200 && reply->status < 300)
        verdict_down(&verdict,
                     "its answer is not a collector's; is the address right?");
    else
        verdict_refused(reply, "the file", report_string(answer, "error"), &verdict);
    (void)snprintf(why, why_size, "%s", verdict.why);
    return verdict.target_down ? SYMBOLS_DOWN : SYMBOLS_REFUSED;
}

enum symbols_outcome symbols_send(const struct symbols_sending *sending,
                                  const struct symbols_file *file, char *why,
                                  size_t why_size)
{
    struct text CH_CLEANUP(text_deinit) url = { 0 };
    struct http_reply CH_CLEANUP(http_reply_deinit) reply = { 0 };
    text_appendf(&url, "%s/api/v1/%s/%s", sending->target->url,
                 file->sources ? "sources" : "symbols", file->build_id);
    if (sending->release != NULL && sending->release[0] != 0)
        text_appendf(&url, "?release=%s", sending->release);
    if (!text_ok(&url)) {
        (void)snprintf(why, why_size, "out of memory");
        return SYMBOLS_DOWN;
    }
    if (symbols_is_known(sending, file, &url))
        return SYMBOLS_KNOWN;
    struct http_request request = request_for(sending, "PUT", &url);
    request.content_type = "application/octet-stream";
    request.file = file->file;
    request.size = file->size;
    // Debug files can be large: the upload may take any time while it makes progress.
    request.least_rate = 1;
    request.progress = sending->progress;
    request.context = sending->context;
    if (http_send(&request, &reply) == CH_OK)
        return judge_symbols_answer(&reply, why, why_size);
    (void)snprintf(why, why_size, "%s", reply.error);
    return SYMBOLS_DOWN;
}
