// SPDX-License-Identifier: Apache-2.0
//
// A message is a run of fields: a tag (number << 3 | wire type) and a value. Strings,
// bytes and messages have their length before them, so a message is written to a text
// of its own first. All members of a oneof are written, also those that are zero.
#include "upload/bodies/otlp_protobuf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/hex.h"
#include "formats/interchange/protobuf.h"

enum field_kind {
    FIELD_STRING,
    FIELD_HEX,     // bytes, hexadecimal in JSON
    FIELD_BASE64,  // bytes, base64 in JSON
    FIELD_FIXED64, // in JSON decimal digits, as 64-bit integers are
    FIELD_INT64,
    FIELD_ENUM,
    FIELD_BOOL,
    FIELD_MESSAGE, // or a list of them
};

struct field {
    const char *name; // of the member in JSON; NULL ends a message
    uint32_t number;
    enum field_kind kind;
    const struct field *message;
};

// Values nest: the tables refer to each other.
static const struct field any_value[];
static const struct field key_value[] = { { "key", 1, FIELD_STRING, NULL },
                                          { "value", 2, FIELD_MESSAGE, any_value },
                                          { 0 } };
static const struct field array_value[] = { { "values", 1, FIELD_MESSAGE, any_value },
                                            { 0 } };
static const struct field list_value[] = { { "values", 1, FIELD_MESSAGE, key_value },
                                           { 0 } };
static const struct field any_value[] = {
    { "stringValue", 1, FIELD_STRING, NULL },
    { "boolValue", 2, FIELD_BOOL, NULL },
    { "intValue", 3, FIELD_INT64, NULL },
    { "arrayValue", 5, FIELD_MESSAGE, array_value },
    { "kvlistValue", 6, FIELD_MESSAGE, list_value },
    { "bytesValue", 7, FIELD_BASE64, NULL },
    { 0 },
};
static const struct field log_record[] = {
    { "timeUnixNano", 1, FIELD_FIXED64, NULL },
    { "severityNumber", 2, FIELD_ENUM, NULL },
    { "severityText", 3, FIELD_STRING, NULL },
    { "body", 5, FIELD_MESSAGE, any_value },
    { "attributes", 6, FIELD_MESSAGE, key_value },
    { "traceId", 9, FIELD_HEX, NULL },
    { "spanId", 10, FIELD_HEX, NULL },
    { "observedTimeUnixNano", 11, FIELD_FIXED64, NULL },
    { "eventName", 12, FIELD_STRING, NULL },
    { 0 },
};
static const struct field scope[] = { { "name", 1, FIELD_STRING, NULL },
                                      { "version", 2, FIELD_STRING, NULL },
                                      { 0 } };
static const struct field scope_logs[] = { { "scope", 1, FIELD_MESSAGE, scope },
                                           { "logRecords", 2, FIELD_MESSAGE,
                                             log_record },
                                           { 0 } };
static const struct field resource[] = { { "attributes", 1, FIELD_MESSAGE, key_value },
                                         { 0 } };
static const struct field resource_logs[] = {
    { "resource", 1, FIELD_MESSAGE, resource },
    { "scopeLogs", 2, FIELD_MESSAGE, scope_logs },
    { 0 }
};
static const struct field logs_request[] = {
    { "resourceLogs", 1, FIELD_MESSAGE, resource_logs }, { 0 }
};

static void put_varint(struct text *out, uint64_t value)
{
    uint8_t bytes[10];
    size_t size = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[size++] = (uint8_t)(value | 0x80);
    bytes[size++] = (uint8_t)value;
    text_append(out, bytes, size);
}

static void put_bytes(struct text *out, uint32_t number, const void *bytes, size_t size)
{
    put_varint(out, number << 3 | PROTOBUF_BYTES);
    put_varint(out, size);
    if (size != 0)
        text_append(out, bytes, size);
}

// put_decoded writes bytes that JSON has as text.
static enum ch_status put_decoded(struct text *out, const struct field *field,
                                  const char *text)
{
    size_t length = strlen(text);
    size_t size = 0;
    uint8_t *bytes = malloc(length + 1);
    enum ch_status status = bytes == NULL ? CH_ERR_NO_MEMORY
                            : field->kind == FIELD_HEX
                                ? hex_decode(text, length, bytes, length, &size)
                                : base64_decode(text, length, bytes, length, &size);
    if (status == CH_OK)
        put_bytes(out, field->number, bytes, size);
    free(bytes);
    return status;
}

static uint64_t integer_of(const json_t *value)
{
    const char *digits = json_string_value(value);
    if (digits == NULL)
        return (uint64_t)json_integer_value(value);
    return digits[0] == '-' ? (uint64_t)strtoll(digits, NULL, 10)
                            : strtoull(digits, NULL, 10);
}

static enum ch_status put_scalar(struct text *out, const struct field *field,
                                 const json_t *value)
{
    const char *string = json_string_value(value);
    if (field->kind == FIELD_STRING && string != NULL) {
        put_bytes(out, field->number, string, json_string_length(value));
    } else if (field->kind == FIELD_BOOL && json_is_boolean(value)) {
        put_varint(out, field->number << 3 | PROTOBUF_VARINT);
        put_varint(out, json_is_true(value));
    } else if (field->kind == FIELD_FIXED64) {
        uint64_t word = htole64(integer_of(value));
        put_varint(out, field->number << 3 | PROTOBUF_FIXED64);
        text_append(out, &word, sizeof(word));
    } else if (field->kind == FIELD_INT64 || field->kind == FIELD_ENUM) {
        put_varint(out, field->number << 3 | PROTOBUF_VARINT);
        put_varint(out, integer_of(value));
    } else {
        return string != NULL ? put_decoded(out, field, string) : CH_ERR_MALFORMED;
    }
    return CH_OK;
}

// NOLINTBEGIN(misc-no-recursion): as deep as values are nested, which is limited
static enum ch_status protobuf_put_message(struct text *out, const struct field *fields,
                                           const json_t *object);

static enum ch_status put_field(struct text *out, const struct field *field,
                                const json_t *value)
{
    struct text CH_CLEANUP(text_deinit) message = { 0 };
    enum ch_status status = CH_OK;
    if (field->kind != FIELD_MESSAGE)
        return put_scalar(out, field, value);
    for (size_t i = 0; json_is_array(value) && i < json_array_size(value); i++) {
        status = put_field(out, field, json_array_get(value, i));
        if (status != CH_OK)
            return status;
    }
    if (json_is_array(value))
        return CH_OK;
    status = protobuf_put_message(&message, field->message, value);
    if (status == CH_OK)
        put_bytes(out, field->number, message.bytes, message.size);
    return status == CH_OK && !text_ok(&message) ? CH_ERR_NO_MEMORY : status;
}

static enum ch_status protobuf_put_message(struct text *out, const struct field *fields,
                                           const json_t *object)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return CH_ERR_MALFORMED;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        const struct field *field = fields;
        while (field->name != NULL && strcmp(field->name, key) != 0)
            field++;
        enum ch_status status =
            field->name != NULL ? put_field(out, field, value) : CH_ERR_MALFORMED;
        if (status != CH_OK)
            return status;
    }
    return CH_OK;
}

// NOLINTEND(misc-no-recursion)

enum ch_status otlp_protobuf_write(const json_t *request, struct text *out)
{
    enum ch_status status = protobuf_put_message(out, logs_request, request);
    return status == CH_OK && !text_ok(out) ? CH_ERR_NO_MEMORY : status;
}

// set_string keeps a string if it is UTF-8, which jansson checks.
static void set_string(json_t *object, const char *key, struct cursor c)
{
    size_t size = cursor_left(&c);
    const char *bytes = (const char *)cursor_take(&c, size);
    json_t *string = bytes != NULL ? json_stringn(bytes, size) : NULL;
    if (string != NULL)
        (void)json_object_set_new(object, key, string);
}

json_t *otlp_protobuf_response(const void *bytes, size_t size)
{
    struct cursor c = cursor_over(bytes, size);
    struct protobuf_field field;
    json_t *partial = json_object();
    while (protobuf_next(&c, &field)) {
        struct cursor inner = field.bytes;
        if (field.number != 1)
            continue;
        while (protobuf_next(&inner, &field)) {
            if (field.number == 1)
                (void)json_object_set_new(partial, "rejectedLogRecords",
                                          json_integer((json_int_t)field.value));
            else if (field.number == 2)
                set_string(partial, "errorMessage", field.bytes);
        }
        if (!cursor_ok(&inner))
            cursor_poison(&c);
    }
    if (cursor_ok(&c))
        return json_pack("{s:o}", "partialSuccess", partial);
    json_decref(partial);
    return NULL;
}

json_t *otlp_protobuf_status(const void *bytes, size_t size)
{
    struct cursor c = cursor_over(bytes, size);
    struct protobuf_field field;
    json_t *status = json_object();
    while (protobuf_next(&c, &field)) {
        if (field.number == 2)
            set_string(status, "message", field.bytes);
    }
    if (cursor_ok(&c))
        return status;
    json_decref(status);
    return NULL;
}
