// SPDX-License-Identifier: Apache-2.0
//
// Headers that an OpenTelemetry log intake requires, such as an API key, in the form of
// OpenTelemetry's own variables: "name=value,name=value", values percent-encoded.
//
// They are secrets: no message quotes them, and only log intakes get them. One invalid
// pair invalidates the list, so that half of a list is never taken for the whole.
#pragma once
#include "base/status.h"
#include "base/text.h"

// OTLP_HEADERS_MAX_BYTES bounds a list.
enum { OTLP_HEADERS_MAX_BYTES = 8192 };

// otlp_headers_read appends the headers of list to out in the form that http_request
// takes: one "name: value" per line. NULL is an empty list. CH_ERR_MALFORMED,
// CH_ERR_LIMIT: out is unchanged, and out_why says what is wrong without quoting the
// list.
CH_CHECKED enum ch_status otlp_headers_read(const char *list, struct text *out,
                                            const char **out_why);
