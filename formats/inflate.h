// SPDX-License-Identifier: Apache-2.0
//
// Decompresses a zlib stream (RFC 1950, RFC 1951), the form in which linkers and Go
// compress debug sections.
//
// zlib itself is not in the agent, which is static and small; what the agent
// decompresses are unwind tables of a few megabytes, whose size their section's header
// tells.
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
