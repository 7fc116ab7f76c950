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
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"

// inflate_zlib decompresses stream into exactly size bytes at out. CH_ERR_TRUNCATED:
// the stream ends early. CH_ERR_MALFORMED: it is none, or has another length or
// checksum. CH_ERR_UNSUPPORTED: it needs a dictionary. On failure, out holds some of
// the bytes.
CH_CHECKED enum ch_status inflate_zlib(struct cursor stream, uint8_t *out, size_t size);

// An inflate_pipe is where a stream comes from and where its contents go, in pieces.
struct inflate_pipe {
    // read gives at most size bytes of the stream, 0 at its end.
    size_t (*read)(void *context, void *to, size_t size);
    // write takes the next bytes of the contents; false: they cannot be kept.
    bool (*write)(void *context, const void *from, size_t size);
    void *context;
};

// inflate_zlib_pipe is inflate_zlib for streams and contents too large for memory.
// CH_ERR_IO: write failed. Never more than size bytes are written.
CH_CHECKED enum ch_status inflate_zlib_pipe(const struct inflate_pipe *pipe,
                                            uint64_t size);
