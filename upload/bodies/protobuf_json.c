// SPDX-License-Identifier: Apache-2.0
//
// A message is a run of fields: a tag (number << 3 | wire type) and a value. Strings,
// bytes and messages have their length before them, so a message is written to a text
// of its own first.
#include "upload/bodies/protobuf_json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/hex.h"
#include "base/text.h"
#include "formats/interchange/protobuf.h"

static void put_bytes(struct text *out, uint32_t number, const void *bytes, size_t size)
{
    PACK(out, "uu", number << 3 | PROTOBUF_BYTES, size);
    text_append(out, bytes, size);
}

// put_decoded writes bytes that JSON has as text.
static enum ch_status put_decoded(struct text *out, const struct protobuf_member *field,
                                  const char *text)
{
    size_t length = strlen(text);
    size_t size = 0;
    uint8_t *bytes = malloc(length + 1);
    enum ch_status status = bytes == NULL ? CH_ERR_NO_MEMORY
                            : field->kind == PROTOBUF_AS_HEX
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

static enum ch_status put_scalar(struct text *out, const struct protobuf_member *field,
                                 const json_t *value)
{
    const char *string = json_string_value(value);
    if (field->kind == PROTOBUF_AS_STRING && string != NULL) {
        put_bytes(out, field->number, string, json_string_length(value));
    } else if (field->kind == PROTOBUF_AS_BOOL && json_is_boolean(value)) {
        PACK(out, "uu", field->number << 3 | PROTOBUF_VARINT, json_is_true(value));
    } else if (field->kind == PROTOBUF_AS_FIXED64) {
        PACK(out, "u8", field->number << 3 | PROTOBUF_FIXED64, integer_of(value));
    } else if (field->kind == PROTOBUF_AS_INT64 || field->kind == PROTOBUF_AS_ENUM) {
        PACK(out, "uu", field->number << 3 | PROTOBUF_VARINT, integer_of(value));
    } else {
        return string != NULL ? put_decoded(out, field, string) : CH_ERR_MALFORMED;
    }
    return CH_OK;
}

// NOLINTBEGIN(misc-no-recursion): as deep as values are nested, which is limited
static enum ch_status put_object(struct text *out, const struct protobuf_member *fields,
                                 const json_t *object);

static enum ch_status put_field(struct text *out, const struct protobuf_member *field,
                                const json_t *value)
{
    struct text CH_CLEANUP(text_deinit) message = { 0 };
    enum ch_status status = CH_OK;
    if (field->kind != PROTOBUF_AS_MESSAGE && !json_is_array(value))
        return put_scalar(out, field, value);
    for (size_t i = 0; json_is_array(value) && i < json_array_size(value); i++) {
        status = put_field(out, field, json_array_get(value, i));
        if (status != CH_OK)
            return status;
    }
    if (json_is_array(value))
        return CH_OK;
    status = put_object(&message, field->message, value);
    if (status == CH_OK)
        put_bytes(out, field->number, message.bytes, message.size);
    return status == CH_OK && !text_ok(&message) ? CH_ERR_NO_MEMORY : status;
}

static enum ch_status put_object(struct text *out, const struct protobuf_member *fields,
                                 const json_t *object)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return CH_ERR_MALFORMED;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        const struct protobuf_member *field = fields;
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

enum ch_status protobuf_write_json(const struct protobuf_member *members,
                                   const json_t *object, struct text *out)
{
    enum ch_status status = put_object(out, members, object);
    return status == CH_OK && !text_ok(out) ? CH_ERR_NO_MEMORY : status;
}

// All members of a oneof are written, also those that are zero.

// Values nest: the tables refer to each other.
static const struct protobuf_member any_value[];
static const struct protobuf_member key_value[] = {
    { "key", 1, PROTOBUF_AS_STRING, NULL },
    { "value", 2, PROTOBUF_AS_MESSAGE, any_value },
    { 0 }
};
static const struct protobuf_member array_value[] = {
    { "values", 1, PROTOBUF_AS_MESSAGE, any_value }, { 0 }
};
static const struct protobuf_member list_value[] = {
    { "values", 1, PROTOBUF_AS_MESSAGE, key_value }, { 0 }
};
static const struct protobuf_member any_value[] = {
    { "stringValue", 1, PROTOBUF_AS_STRING, NULL },
    { "boolValue", 2, PROTOBUF_AS_BOOL, NULL },
    { "intValue", 3, PROTOBUF_AS_INT64, NULL },
    { "arrayValue", 5, PROTOBUF_AS_MESSAGE, array_value },
    { "kvlistValue", 6, PROTOBUF_AS_MESSAGE, list_value },
    { "bytesValue", 7, PROTOBUF_AS_BASE64, NULL },
    { 0 },
};
static const struct protobuf_member log_record[] = {
    { "timeUnixNano", 1, PROTOBUF_AS_FIXED64, NULL },
    { "severityNumber", 2, PROTOBUF_AS_ENUM, NULL },
    { "severityText", 3, PROTOBUF_AS_STRING, NULL },
    { "body", 5, PROTOBUF_AS_MESSAGE, any_value },
    { "attributes", 6, PROTOBUF_AS_MESSAGE, key_value },
    { "traceId", 9, PROTOBUF_AS_HEX, NULL },
    { "spanId", 10, PROTOBUF_AS_HEX, NULL },
    { "observedTimeUnixNano", 11, PROTOBUF_AS_FIXED64, NULL },
    { "eventName", 12, PROTOBUF_AS_STRING, NULL },
    { 0 },
};
static const struct protobuf_member scope[] = { { "name", 1, PROTOBUF_AS_STRING, NULL },
                                                { "version", 2, PROTOBUF_AS_STRING,
                                                  NULL },
                                                { 0 } };
static const struct protobuf_member scope_logs[] = {
    { "scope", 1, PROTOBUF_AS_MESSAGE, scope },
    { "logRecords", 2, PROTOBUF_AS_MESSAGE, log_record },
    { 0 }
};
static const struct protobuf_member resource[] = {
    { "attributes", 1, PROTOBUF_AS_MESSAGE, key_value }, { 0 }
};
static const struct protobuf_member resource_logs[] = {
    { "resource", 1, PROTOBUF_AS_MESSAGE, resource },
    { "scopeLogs", 2, PROTOBUF_AS_MESSAGE, scope_logs },
    { 0 }
};
static const struct protobuf_member logs_request[] = {
    { "resourceLogs", 1, PROTOBUF_AS_MESSAGE, resource_logs }, { 0 }
};

enum ch_status otlp_protobuf_write(const json_t *request, struct text *out)
{
    return protobuf_write_json(logs_request, request, out);
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
