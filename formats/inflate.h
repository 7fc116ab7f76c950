// SPDX-License-Identifier: Apache-2.0
//
// Decompresses a zlib stream (RFC 1950, RFC 1951), the form in which linkers and Go
// compress debug sections.
//
// zlib itself is not in the agent, which is static and small; and debug information,
// hundreds of megabytes of it for a large program, takes two thirds of zlib's time
// here, as 64 bits of the stream are taken at once and a table entry has all that is to
// be known of a symbol (docs/symbolizing.md).
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"

// inflate_zlib decompresses stream into exactly size bytes at out. CH_ERR_TRUNCATED:
// the stream ends early. CH_ERR_MALFORMED: it is none, or has another length or
// checksum. CH_ERR_UNSUPPORTED: it needs a dictionary. On failure, out holds some of
// the bytes.
CH_CHECKED enum ch_status inflate_zlib(struct cursor stream, uint8_t *out, size_t size);
