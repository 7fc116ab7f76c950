// SPDX-License-Identifier: Apache-2.0
//
// OTLP in protobuf: requests are made of the JSON form's tree, answers become that
// form's tree, so that nothing else depends on which of them an intake takes. The
// messages are those of opentelemetry-proto's logs/v1 and common/v1. Users: otlp_logs,
// otlp.
#pragma once
#include <jansson.h>
#include <stddef.h>

#include "base/status.h"
#include "base/text.h"

// otlp_protobuf_write appends an ExportLogsServiceRequest. CH_ERR_MALFORMED: request
// has a member that the message does not.
CH_CHECKED enum ch_status otlp_protobuf_write(const json_t *request, struct text *out);

// otlp_protobuf_response reads an ExportLogsServiceResponse: {"partialSuccess": {...}}.
// otlp_protobuf_status reads the google.rpc.Status of a refusal: {"message": "..."}.
// NULL: the bytes are neither.
json_t *otlp_protobuf_response(const void *bytes, size_t size);
json_t *otlp_protobuf_status(const void *bytes, size_t size);
