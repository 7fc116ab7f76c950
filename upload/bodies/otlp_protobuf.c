// SPDX-License-Identifier: Apache-2.0
//
// All members of a oneof are written, also those that are zero.
#include "upload/bodies/otlp_protobuf.h"

#include <stdint.h>

#include "base/cursor.h"
#include "formats/interchange/protobuf.h"
#include "upload/bodies/protobuf_json.h"

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
