// SPDX-License-Identifier: Apache-2.0
//
// The protocol of an OpenTelemetry log intake: POST BASE/v1/logs with the record as
// JSON, and what the answer means. An intake does not recognize a record that was sent
// twice; the report's id is among the attributes.
#pragma once
#include "upload/shipment.h"
#include "upload/target.h"

// otlp_send sends the report's record and judges the answer.
void otlp_send(const struct target *target, const struct shipment *shipment,
               struct verdict *out);

// otlp_ask asks by a request without a record.
void otlp_ask(const struct target *target, const struct shipment *shipment,
              struct shipment_question *out);
