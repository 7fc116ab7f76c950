// SPDX-License-Identifier: Apache-2.0
//
// Attributes as OpenTelemetry's JSON writes them: arrays of {"key","value"}, where a
// value is an object whose one key names its type. 64-bit integers are strings there.
// Users: otlp_logs.
#pragma once
#include <jansson.h>
#include <stdint.h>

// otlp_value_string, and its like below, make one value; NULL where there is none.
json_t *otlp_value_string(const char *string);
json_t *otlp_value_integer(int64_t integer);

// otlp_value_bytes takes base64, which is what it is written as.
json_t *otlp_value_bytes(const char *base64);

// otlp_value_array and otlp_value_map take over an array of values or attributes.
json_t *otlp_value_array(json_t *values);
json_t *otlp_value_map(json_t *attributes);

// otlp_value_any turns JSON of one of the above types to a value; NULL for others.
json_t *otlp_value_any(const json_t *json);

// otlp_value_add takes over value and adds it to attributes as key; no value, no
// attribute.
void otlp_value_add(json_t *attributes, const char *key, json_t *value);

// otlp_value_add_member adds the string or whole number that object has as member.
void otlp_value_add_member(json_t *attributes, const char *key, const json_t *object,
                           const char *member);
