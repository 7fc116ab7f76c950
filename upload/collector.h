// SPDX-License-Identifier: Apache-2.0
//
// The collector's side of an upload: POST BASE/api/v1/reports, the report as JSON under
// zstd, and what its answer means for the report. The same report may be sent any
// number of times; the collector knows it by its id.
#pragma once
#include <stdint.h>

#include "base/status.h"
#include "report/spool_state.h"
#include "upload/http.h"
#include "upload/target.h"

struct collector_report {
    const char *id;
    const char *json;
    size_t size;
    const char *token; // "" or NULL: none
};

// What a target's answer means.
struct collector_verdict {
    enum spool_target_state state;
    bool target_down;      // the trouble is the target's, not this report's
    int64_t retry_after_s; // -1: not said
    char why[256];         // "" where it was taken
};

// collector_send sends the report and judges the answer.
void collector_send(const struct target *target, const struct collector_report *report,
                    uint64_t timeout_ms, struct collector_verdict *out);

// collector_judge judges an answer to the report called id.
void collector_judge(const struct http_reply *reply, const char *id,
                     struct collector_verdict *out);
