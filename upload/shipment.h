// SPDX-License-Identifier: Apache-2.0
//
// A report on its way to one target, and what the target's answer means for it.
//
// Each kind of target has a function that sends a shipment and judges the answer
// (collector.c, sentry.c, otlp.c). All follow one rule: a failure that is due to the
// report is recorded with the report and final, a failure that is due to the target is
// temporary.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "net/http.h"
#include "report/spool/spool_state.h"

struct shipment {
    const char *id;
    const json_t *report;
    const char *json; // the same, as it is in the spool
    size_t size;
    const char *token;        // for collectors; "" or NULL: none
    const char *otlp_headers; // for log intakes, in http_request's form; NULL: none
    bool otlp_protobuf;       // log intakes get protobuf, not JSON
    bool expand;              // the target accepts only version 1 of reports
    bool attach; // send the report too, where it is an attachment of an event
    uint64_t timeout_ms;
    http_progress_fn *progress; // NULL: not reported
    void *context;
};

// shipment_question carries what a report carries to be let in, and no report. Its
// texts must be deinited.
struct shipment_question {
    struct text url;
    struct text body;
    struct text headers;
    const char *content_type;
    const char *token; // NULL: none
};

struct verdict {
    enum spool_target_state state;
    bool target_down;           // the failure is due to the target, not to this report
    int64_t wait_s;             // how long it wants no reports; -1: not given
    int64_t attachments_wait_s; // how long it wants no attachments; -1: not given
    bool expanded;              // this answer showed that it accepts only version 1
    char why[256];              // "" if it took the report
};

// verdict_begin sets the verdict while nothing is known.
void verdict_begin(struct verdict *out);

// verdict_down reports why the target cannot take reports now; the report waits.
void verdict_down(struct verdict *out, const char *format, ...) CH_PRINTF(2, 3);

// verdict_refused judges any answer except 2xx to what was sent, such as "the report".
// words is the server's own message; NULL: none.
void verdict_refused(const struct http_reply *reply, const char *what,
                     const char *words, struct verdict *out);

// verdict_rejected records that the target will never take this report.
void verdict_rejected(struct verdict *out, const char *words);

// verdict_answer parses an answer's JSON; NULL if it is not JSON.
json_t *verdict_answer(const struct http_reply *reply);

// Compression of bodies: zstd for collectors; gzip for the servers of others, and only
// for large bodies, because more proxies and tools can read a plain one.

// packing_zstd appends size bytes compressed. It fails only when memory is short.
CH_CHECKED enum ch_status packing_zstd(const void *bytes, size_t size,
                                       struct text *out);

// packing_body makes plain the body of request, compressed into packed if it is large.
// Both texts must outlive the request.
CH_CHECKED enum ch_status packing_body(const struct text *plain, struct text *packed,
                                       struct http_request *request);
