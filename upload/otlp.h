// SPDX-License-Identifier: Apache-2.0
//
// An OpenTelemetry log intake's side of an upload: POST BASE/v1/logs, the record as
// JSON, and what the answer means. An intake does not know a record that it was sent
// twice; the report's id is among the attributes.
#pragma once
#include "upload/shipment.h"
#include "upload/target.h"

// otlp_send sends the report's record and judges the answer.
void otlp_send(const struct target *target, const struct shipment *shipment,
               struct verdict *out);

// otlp_write_url appends where target takes records.
void otlp_write_url(const struct target *target, struct text *out);

// otlp_judge judges an answer.
void otlp_judge(const struct http_reply *reply, struct verdict *out);
