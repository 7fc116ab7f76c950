// SPDX-License-Identifier: Apache-2.0
//
// Attributes as OpenTelemetry's JSON writes them: arrays of {"key","value"}, where a
// value is an object whose one key names its type. 64-bit integers are written as
// strings. Users: otlp_logs.
#pragma once
#include <jansson.h>
#include <stdint.h>

// otlp_value_string and the functions below make one value; NULL where there is none.
json_t *otlp_value_string(const char *string);

// otlp_value_bytes takes base64, which is also the form it is written in.
json_t *otlp_value_bytes(const char *base64);

// otlp_value_array and otlp_value_map take ownership of an array of values or
// attributes.
json_t *otlp_value_array(json_t *values);
json_t *otlp_value_map(json_t *attributes);

// otlp_value_any converts JSON of one of the above types to a value; NULL for other
// types.
json_t *otlp_value_any(const json_t *json);

// otlp_value_add takes ownership of value and adds it to attributes as key; a NULL
// value adds nothing.
void otlp_value_add(json_t *attributes, const char *key, json_t *value);

// otlp_value_add_member adds the string or integer that object has as member.
void otlp_value_add_member(json_t *attributes, const char *key, const json_t *object,
                           const char *member);
