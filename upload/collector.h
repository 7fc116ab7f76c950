// SPDX-License-Identifier: Apache-2.0
//
// The collector's protocol: POST BASE/api/v1/reports with the report as JSON,
// compressed with zstd, and what the answer means for the report. The same report may
// be sent any number of times; the collector recognizes it by its id.
#pragma once
#include "upload/shipment.h"
#include "upload/target.h"

// collector_send sends the report and judges the answer.
void collector_send(const struct target *target, const struct shipment *shipment,
                    struct verdict *out);

// collector_ask asks by an empty object, which is refused for what it is only after the
// token was accepted.
void collector_ask(const struct target *target, const struct shipment *shipment,
                   struct shipment_question *out);

// collector_judge judges an answer to the report called id.
void collector_judge(const struct http_reply *reply, const char *id,
                     struct verdict *out);
