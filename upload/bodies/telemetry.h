// SPDX-License-Identifier: Apache-2.0
//
// What a crashed program's environment said of it to OpenTelemetry: the attributes of
// its resource, and the trace that it was part of. Users: the records of OTLP and
// Sentry's events.
#pragma once
#include <jansson.h>
#include <stdbool.h>

enum {
    TELEMETRY_TRACE_SIZE = 33,
    TELEMETRY_SPAN_SIZE = 17,
    TELEMETRY_VALUE_SIZE = 256
};

// telemetry_trace is a trace and a span in it, as lower-case digits.
struct telemetry_trace {
    char trace[TELEMETRY_TRACE_SIZE];
    char span[TELEMETRY_SPAN_SIZE]; // empty: not known
};

// telemetry_trace_of finds the trace: by the context that the crashed thread published
// (OTEP 4947), by the tags `trace_id` and `span_id` that a program sets as it goes,
// otherwise by TRACEPARENT (W3C Trace Context). false: there is none.
bool telemetry_trace_of(const json_t *report, struct telemetry_trace *out);

// telemetry_attributes gives the resource attributes of the environment as an object of
// strings: those of OTEL_RESOURCE_ATTRIBUTES, percent-decoded, `service.name` of
// OTEL_SERVICE_NAME, and those that the program published (OTEP 4719), each of which
// takes precedence over those before it. A list that is wrong is left out whole, as the
// specification of SDKs has it.
json_t *telemetry_attributes(const json_t *report);
