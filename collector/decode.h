// SPDX-License-Identifier: Apache-2.0
//
// Decoding takes the Content-Encoding off a body: identity, gzip or zstd.
//
// Compressed bodies are bombs until shown otherwise, so the limit is on what comes out:
// decoding stops at limit_bytes whatever the input claims. Users: uploads as they come
// in, and stored reports, which are kept as they came, on their way out.
#pragma once
#include <stddef.h>

#include "base/status.h"
#include "base/text.h"

enum decode_encoding {
    DECODE_IDENTITY,
    DECODE_GZIP,
    DECODE_ZSTD,
};

// decode_encoding_named finds the encoding an HTTP header names; NULL is identity.
// CH_ERR_UNSUPPORTED: none of ours, or several at once.
CH_CHECKED enum ch_status decode_encoding_named(const char *name,
                                                enum decode_encoding *out);

// decode_body appends what size bytes decode to. CH_ERR_TRUNCATED: the data ends early;
// CH_ERR_MALFORMED: it is damaged; CH_ERR_LIMIT: more than limit_bytes come out. out
// holds an unspecified part after a failure.
CH_CHECKED enum ch_status decode_body(enum decode_encoding encoding, const void *bytes,
                                      size_t size, size_t limit_bytes,
                                      struct text *out);
