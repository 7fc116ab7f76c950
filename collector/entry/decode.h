// SPDX-License-Identifier: Apache-2.0
//
// Encodings of bodies: decoding removes the Content-Encoding of one that arrives
// (identity, gzip or zstd), and answers are compressed.
//
// Any compressed body may be a decompression bomb, so the limit is on the output:
// decoding stops at limit_bytes whatever the input claims. Users: uploads as they
// arrive, and stored reports, which are kept as they were sent, when they are read.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "base/text.h"

enum decode_encoding {
    DECODE_IDENTITY,
    DECODE_GZIP,
    DECODE_ZSTD,
};

// decode_encoding_named finds the encoding that an HTTP header names; NULL is identity.
// CH_ERR_UNSUPPORTED: it is none of ours, or a list of several.
CH_CHECKED enum ch_status decode_encoding_named(const char *name,
                                                enum decode_encoding *out);

// decode_body appends what size bytes decode to. CH_ERR_TRUNCATED: the data ends early;
// CH_ERR_MALFORMED: it is damaged; CH_ERR_LIMIT: it decodes to more than limit_bytes.
// After a failure out holds an unspecified part of the output.
CH_CHECKED enum ch_status decode_body(enum decode_encoding encoding, const void *bytes,
                                      size_t size, size_t limit_bytes,
                                      struct text *out);

// Answers as gzip, for clients that take it: a list has a seventh of its bytes then.
//
// Pages hold no secret beside what a stranger chose for them (no token, no form key),
// so their compressed size tells nothing. Limit: answers under COMPRESS_LEAST bytes
// stay as they are.

enum { COMPRESS_LEAST = 1024 };

// compress_wanted returns true if an Accept-Encoding header, which may be NULL, takes
// gzip.
bool compress_wanted(const char *accepted);

// compress_answer replaces body by its gzip form, unless it is short or would not get
// smaller: then it returns false, and body is what it was.
bool compress_answer(struct text *body);
