// SPDX-License-Identifier: Apache-2.0
#include "upload/bodies/telemetry.h"

#include <string.h>

#include "base/hex.h"
#include "base/text.h"
#include "report/value/report.h"

enum { PARENT_TRACE = 3, PARENT_SPAN = 36, PARENT_SIZE = 55 };

static const char hex_digits[] = "0123456789abcdef";

// is_hex_id returns true if text begins with length digits that are not all zero.
static bool is_hex_id(const char *text, size_t length)
{
    return strspn(text, hex_digits) >= length && strspn(text, "0") < length;
}

static void copy_hex_id(char *out, const char *text, size_t length)
{
    memcpy(out, text, length);
    out[length] = 0;
}

bool telemetry_trace_of(const json_t *report, struct telemetry_trace *out)
{
    const json_t *tags = json_object_get(report, "tags");
    const json_t *published = json_object_get(report_crashed_thread(report), "trace");
    if (report_string(published, "trace_id") != NULL)
        tags = published;
    const char *trace = report_string(tags, "trace_id");
    const char *span = report_string(tags, "span_id");
    const char *parent =
        report_string(json_object_get(report, "telemetry"), "traceparent");
    const size_t trace_digits = TELEMETRY_TRACE_SIZE - 1;
    const size_t span_digits = TELEMETRY_SPAN_SIZE - 1;
    *out = (struct telemetry_trace){ 0 };
    if (trace != NULL && strlen(trace) == trace_digits &&
        is_hex_id(trace, trace_digits)) {
        copy_hex_id(out->trace, trace, trace_digits);
        if (span != NULL && strlen(span) == span_digits && is_hex_id(span, span_digits))
            copy_hex_id(out->span, span, span_digits);
        return true;
    }
    if (parent == NULL || strlen(parent) < PARENT_SIZE ||
        strncmp(parent, "ff", 2) == 0 || parent[PARENT_TRACE - 1] != '-' ||
        parent[PARENT_SPAN - 1] != '-' ||
        !is_hex_id(parent + PARENT_TRACE, trace_digits) ||
        !is_hex_id(parent + PARENT_SPAN, span_digits))
        return false;
    copy_hex_id(out->trace, parent + PARENT_TRACE, trace_digits);
    copy_hex_id(out->span, parent + PARENT_SPAN, span_digits);
    return true;
}

// decode_percent appends length bytes with `%20` decoded; false: it is no encoding.
static bool decode_percent(const char *text, size_t length, struct text *out)
{
    for (size_t i = 0; i < length; i++) {
        char byte = text[i];
        size_t size = 0;
        if (byte == '%') {
            if (length - i < 3 || hex_decode(text + i + 1, 2, &byte, 1, &size) != CH_OK)
                return false;
            i += 2;
        }
        text_append(out, &byte, 1);
    }
    return text_ok(out) && out->size < TELEMETRY_VALUE_SIZE;
}

// take_attribute takes `key=value`; false: it is none.
static bool take_attribute(json_t *to, const char *pair, size_t length)
{
    struct text CH_CLEANUP(text_deinit) key = { 0 };
    struct text CH_CLEANUP(text_deinit) value = { 0 };
    const char *equals = memchr(pair, '=', length);
    if (equals == NULL || equals == pair)
        return false;
    size_t named = (size_t)(equals - pair);
    while (named > 0 && pair[0] == ' ') {
        pair++;
        named--;
        length--;
    }
    if (!decode_percent(pair, named, &key) ||
        !decode_percent(equals + 1, length - named - 1, &value) || key.size == 0)
        return false;
    return json_object_set_new(
               to, key.bytes,
               json_stringn(value.size != 0 ? value.bytes : "", value.size)) == 0;
}

json_t *telemetry_attributes(const json_t *report)
{
    const json_t *telemetry = json_object_get(report, "telemetry");
    const char *list = report_string(telemetry, "attributes");
    const char *service = report_string(telemetry, "service");
    json_t *attributes = json_object();
    bool right = true;
    while (list != NULL && *list != 0 && right) {
        size_t length = strcspn(list, ",");
        right = length == 0 || take_attribute(attributes, list, length);
        list += length + (list[length] == ',');
    }
    if (!right)
        (void)json_object_clear(attributes);
    if (service != NULL && service[0] != 0)
        (void)json_object_set_new(attributes, "service.name", json_string(service));
    const json_t *published = json_object_get(telemetry, "resource");
    for (size_t i = 0; i < json_array_size(published); i++) {
        const json_t *attribute = json_array_get(published, i);
        const char *key = report_string(attribute, "key");
        const char *value = report_string(attribute, "value");
        if (key != NULL && value != NULL && strlen(value) < TELEMETRY_VALUE_SIZE)
            (void)json_object_set_new(attributes, key, json_string(value));
    }
    return attributes;
}
