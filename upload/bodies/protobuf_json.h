// SPDX-License-Identifier: Apache-2.0
//
// Protobuf messages that are made of JSON, by tables of their members. A list in JSON
// is a repeated member; numbers are not packed.
#pragma once
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

enum protobuf_as {
    PROTOBUF_AS_STRING,
    PROTOBUF_AS_HEX,     // bytes, hexadecimal in JSON
    PROTOBUF_AS_BASE64,  // bytes, base64 in JSON
    PROTOBUF_AS_FIXED64, // in JSON decimal digits, as 64-bit integers are
    PROTOBUF_AS_INT64,
    PROTOBUF_AS_ENUM,
    PROTOBUF_AS_BOOL,
    PROTOBUF_AS_MESSAGE,
};

struct protobuf_member {
    const char *name; // of the member in JSON; NULL ends a message
    uint32_t number;
    enum protobuf_as kind;
    const struct protobuf_member *message;
};

// protobuf_write_json appends the message. CH_ERR_MALFORMED: the object has a member
// that the message does not.
CH_CHECKED enum ch_status protobuf_write_json(const struct protobuf_member *members,
                                              const json_t *object, struct text *out);

// OTLP in protobuf: requests are made of the JSON form's tree, answers become that
// form's tree, so that nothing else depends on which of them an intake takes. The
// messages are those of opentelemetry-proto's logs/v1 and common/v1. Users: otlp_logs,
// otlp.

// otlp_protobuf_write appends an ExportLogsServiceRequest. CH_ERR_MALFORMED: request
// has a member that the message does not.
CH_CHECKED enum ch_status otlp_protobuf_write(const json_t *request, struct text *out);

// otlp_protobuf_response reads an ExportLogsServiceResponse: {"partialSuccess": {...}}.
// otlp_protobuf_status reads the google.rpc.Status of a refusal: {"message": "..."}.
// NULL: the bytes are neither.
json_t *otlp_protobuf_response(const void *bytes, size_t size);
json_t *otlp_protobuf_status(const void *bytes, size_t size);
