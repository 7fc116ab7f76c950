// SPDX-License-Identifier: Apache-2.0
#include "upload/bodies/otlp_value.h"

#include <inttypes.h>
#include <stdio.h>

json_t *otlp_value_string(const char *string)
{
    return string != NULL ? json_pack("{s:s}", "stringValue", string) : NULL;
}

static json_t *otlp_value_integer(int64_t integer)
{
    char digits[24];
    (void)snprintf(digits, sizeof(digits), "%" PRId64, integer);
    return json_pack("{s:s}", "intValue", digits);
}

json_t *otlp_value_bytes(const char *base64)
{
    return base64 != NULL ? json_pack("{s:s}", "bytesValue", base64) : NULL;
}

json_t *otlp_value_array(json_t *values)
{
    return json_pack("{s:{s:o}}", "arrayValue", "values", values);
}

json_t *otlp_value_map(json_t *attributes)
{
    return json_pack("{s:{s:o}}", "kvlistValue", "values", attributes);
}

json_t *otlp_value_any(const json_t *json)
{
    if (json_is_integer(json))
        return otlp_value_integer(json_integer_value(json));
    if (json_is_boolean(json))
        return json_pack("{s:b}", "boolValue", json_is_true(json));
    return otlp_value_string(json_string_value(json));
}

void otlp_value_add(json_t *attributes, const char *key, json_t *value)
{
    if (value != NULL)
        (void)json_array_append_new(
            attributes, json_pack("{s:s, s:o}", "key", key, "value", value));
}

void otlp_value_add_member(json_t *attributes, const char *key, const json_t *object,
                           const char *member)
{
    otlp_value_add(attributes, key, otlp_value_any(json_object_get(object, member)));
}
