// SPDX-License-Identifier: Apache-2.0
//
// A report on its way to one target, and what the target's answer means for it.
//
// Each kind of target has a function that sends a shipment and judges the answer
// (collector.h, sentry.h, otlp.h). They agree on what is the report's own trouble,
// which it keeps, and what is the target's, which passes.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/spool_state.h"
#include "upload/http.h"

struct shipment {
    const char *id;
    const json_t *report;
    const char *json; // the same as it lies in the spool
    size_t size;
    const char *token;        // a collector's; "" or NULL: none
    const char *otlp_headers; // a log intake's, as http_request takes them; NULL: none
    bool expand;              // the target knows version 1 of reports alone
    bool attach;              // where a report travels beside an event: send it too
    uint64_t timeout_ms;
    http_progress_fn *progress; // NULL: nobody wants to know
    void *context;
};

struct verdict {
    enum spool_target_state state;
    bool target_down;           // the trouble is the target's, not this report's
    int64_t wait_s;             // how long it wants to be left alone; -1: not said
    int64_t attachments_wait_s; // how long it wants no attachments; -1: not said
    bool expanded;              // it knows version 1 of reports alone, as was found now
    char why[256];              // "" where it was taken
};

// verdict_begin is the verdict while nothing is known.
void verdict_begin(struct verdict *out);

// verdict_down says why the target cannot be asked now; the report waits.
void verdict_down(struct verdict *out, const char *format, ...) CH_PRINTF(2, 3);

// verdict_refused judges any answer but 2xx to what was sent, such as "the report".
// words are the server's own, for the message; NULL: none.
void verdict_refused(const struct http_reply *reply, const char *what,
                     const char *words, struct verdict *out);

// verdict_rejected notes that the target will never take this report.
void verdict_rejected(struct verdict *out, const char *words);

// verdict_answer parses the JSON in an answer; NULL where it holds none.
json_t *verdict_answer(const struct http_reply *reply);
