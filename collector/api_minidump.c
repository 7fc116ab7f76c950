// SPDX-License-Identifier: Apache-2.0
//
// Minidumps from clients of Sentry, Crashpad and Breakpad: a report is made of one, and
// then taken as if it had been sent.
#include <string.h>

#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/requests/minidump_report.h"
#include "collector/symbols/symbol_store.h"

// decode_upload removes the body's Content-Encoding, or fails the request.
static bool decode_upload(struct http_request *request, struct text *out)
{
    enum decode_encoding encoding;
    if (decode_encoding_named(request->content_encoding, &encoding) != CH_OK) {
        http_fail(request, 415, "the Content-Encoding is not identity, gzip or zstd");
        return false;
    }
    enum ch_status status = decode_body(encoding, request->body.bytes,
                                        request->body.size, COLLECTOR_DECODED_MAX, out);
    if (status == CH_ERR_LIMIT)
        http_fail(request, 413, "the body decodes to more than %d bytes",
                  COLLECTOR_DECODED_MAX);
    else if (status != CH_OK)
        http_fail(request, 400, "the body is damaged");
    return status == CH_OK;
}

// fail_minidump reports why there is no report.
static void fail_minidump(struct http_request *request, enum ch_status status,
                          const struct text *why)
{
    if ((status == CH_ERR_MALFORMED || status == CH_ERR_UNSUPPORTED) && why->size != 0)
        http_fail(request, 400, "cannot read the minidump: %.200s", why->bytes);
    else if (status == CH_ERR_IO || status == CH_ERR_NO_MEMORY)
        http_later(request, 503, 0, "the minidump could not be read now");
    else
        http_fail(request, 400, "cannot read the minidump: it is damaged");
}

// take_minidump answers a request whose body has a minidump. A dump takes a process and
// memory, so it is read in the pool of what is large, one at a time.
static void take_minidump(struct http_request *request, enum minidump_body_form form)
{
    struct collector *collector = collector_of(request);
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    struct text report = { 0 };
    const struct minidump_upload upload = {
        .form = form,
        .body = &body,
        .symbols = symbol_store_folder(collector->symbols),
        .project = request->who.project,
    };
    if (!request->large) {
        http_move_large(request);
        return;
    }
    if (!decode_upload(request, &body))
        return;
    enum ch_status status = minidump_report_make(&upload, &report);
    if (status != CH_OK) {
        fail_minidump(request, status, &report);
        text_deinit(&report);
        return;
    }
    text_deinit(&request->body);
    request->body = report;
    request->content_encoding = NULL;
    api_post_report(request);
}

void api_post_minidump(struct http_request *request)
{
    take_minidump(request, MINIDUMP_BODY_FORM);
}

void api_post_envelope(struct http_request *request)
{
    take_minidump(request, MINIDUMP_BODY_ENVELOPE);
}
