// SPDX-License-Identifier: Apache-2.0
//
// Headers that an OpenTelemetry log intake asks for, such as an API key, in the form
// that its standard variables have: "name=value,name=value", values percent-encoded.
//
// They are secrets: no message quotes them, and they go to log intakes alone. One pair
// that cannot be a header spoils the list, so that nobody takes half of it for all.
#pragma once
#include "base/status.h"
#include "base/text.h"

// OTLP_HEADERS_MAX_BYTES bounds a list.
enum { OTLP_HEADERS_MAX_BYTES = 8192 };

// otlp_headers_read appends the headers of list to out as http_request takes them: one
// "name: value" a line. NULL is an empty list. CH_ERR_MALFORMED, CH_ERR_LIMIT: out is
// as it was, and out_why says what is wrong without a word of the list.
CH_CHECKED enum ch_status otlp_headers_read(const char *list, struct text *out,
                                            const char **out_why);
