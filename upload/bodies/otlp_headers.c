// SPDX-License-Identifier: Apache-2.0
#include "upload/bodies/otlp_headers.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/hex.h"

// span is a part of the list.
struct span {
    const char *at;
    size_t length;
};

static bool is_header_space(char c)
{
    return c == ' ' || c == '\t';
}

static struct span trimmed(struct span span)
{
    while (span.length > 0 && is_header_space(span.at[span.length - 1]))
        span.length--;
    while (span.length > 0 && is_header_space(*span.at)) {
        span.at++;
        span.length--;
    }
    return span;
}

// is_header_name is true for a token as RFC 9110, section 5.6.2, defines it.
static bool is_header_name(struct span name)
{
    static const char letters[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (size_t i = 0; i < name.length; i++) {
        if (name.at[i] == 0 || strchr(letters, name.at[i]) == NULL)
            return false;
    }
    return name.length != 0;
}

// header_is_ours is true for a header that must match the request, so that users may
// not set it.
static bool header_is_ours(struct span name)
{
    static const char *const ours[] = { "content-length",
                                        "content-type",
                                        "content-encoding",
                                        "expect",
                                        "transfer-encoding",
                                        "connection",
                                        "host" };
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        if (strlen(ours[i]) == name.length &&
            strncasecmp(ours[i], name.at, name.length) == 0)
            return true;
    }
    return false;
}

// append_header_value appends the decoded value; false: no header can have that value.
static bool append_header_value(struct span value, struct text *out)
{
    for (size_t i = 0; i < value.length; i++) {
        char byte = value.at[i];
        size_t size = 0;
        if (byte == '%') {
            if (value.length - i < 3 ||
                hex_decode(value.at + i + 1, 2, &byte, 1, &size) != CH_OK)
                return false;
            i += 2;
        }
        if (byte < ' ' || byte > '~')
            return false;
        text_append(out, &byte, 1);
    }
    return value.length != 0;
}

// append_pair appends one header, or returns why it is not valid.
static const char *append_pair(struct span pair, struct text *out)
{
    const char *equals = memchr(pair.at, '=', pair.length);
    if (equals == NULL)
        return "a pair in it has no '='";
    struct span name = { pair.at, (size_t)(equals - pair.at) };
    struct span value = { equals + 1, pair.length - name.length - 1 };
    name = trimmed(name);
    if (!is_header_name(name))
        return "a name in it is none that a header can have";
    if (header_is_ours(name))
        return "it names a header that the request needs for itself";
    text_append_string(out, out->size != 0 ? "\n" : "");
    text_append(out, name.at, name.length);
    text_append_string(out, ": ");
    return append_header_value(trimmed(value), out)
               ? NULL
               : "a value in it is none that a header can have";
}

enum ch_status otlp_headers_read(const char *list, struct text *out,
                                 const char **out_why)
{
    struct text CH_CLEANUP(text_deinit) headers = { 0 };
    const char *why = NULL;
    if (list == NULL)
        return CH_OK;
    if (strnlen(list, OTLP_HEADERS_MAX_BYTES + 1) > OTLP_HEADERS_MAX_BYTES) {
        *out_why = "it is too long";
        return CH_ERR_LIMIT;
    }
    for (const char *at = list; *at != 0 && why == NULL;) {
        const struct span pair = { at, strcspn(at, ",") };
        if (trimmed(pair).length != 0)
            why = append_pair(trimmed(pair), &headers);
        at += pair.length + (at[pair.length] == ',');
    }
    if (why != NULL) {
        *out_why = why;
        return CH_ERR_MALFORMED;
    }
    if (headers.size != 0)
        text_append(out, headers.bytes, headers.size);
    *out_why = "out of memory";
    return text_ok(&headers) && text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}
