// SPDX-License-Identifier: Apache-2.0
//
// Decompresses one zlib stream with several threads. The stream is cut into parts. A
// thread that takes a part before the one in front is done looks for the first block in
// it and decodes ahead: what repetitions take from before its beginning is not known,
// but soon nothing in reach depends on it any more. Decoding with two different
// beginnings tells when. Once the part in front is done, and has ended where this one
// began, only the first blocks have to be decoded again.
//
// Whether blocks begin where they seem to is never trusted: a part that did not begin
// where the one in front ended is decoded anew. So the contents, and what is refused,
// are those of a single decoder.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// An inflate_source is where a stream is, and where its contents go. Several threads
// call it at once.
struct inflate_source {
    // read_at gives at most size bytes of the stream from a byte on, 0 at its end.
    size_t (*read_at)(void *context, void *to, size_t size, uint64_t at);
    // write_at takes bytes of the contents; false: they cannot be kept.
    bool (*write_at)(void *context, const void *from, size_t size, uint64_t at);
    void *context;
};

struct inflate_parts;

// inflate_parts_create makes the parts of a stream of stored bytes, each of part_bytes,
// whose contents are size bytes. CH_ERR_NO_MEMORY.
CH_CHECKED enum ch_status inflate_parts_create(struct inflate_parts **out,
                                               const struct inflate_source *source,
                                               uint64_t stored, uint64_t size,
                                               uint64_t part_bytes);

// inflate_parts_destroy frees parts, which no thread uses any more; NULL is allowed.
void inflate_parts_destroy(struct inflate_parts *parts);

// inflate_parts_work takes parts until none is left; any number of threads may do so.
// A thread that decodes ahead keeps at most three times the bytes of a part. It gives
// the failure of any thread: those of inflate.h, or CH_ERR_IO: write_at failed. Never
// more than size bytes are written.
CH_CHECKED enum ch_status inflate_parts_work(struct inflate_parts *parts);

// inflate_parts_check says, once all threads have come back, whether the stream has
// ended with the right size and checksum.
CH_CHECKED enum ch_status inflate_parts_check(const struct inflate_parts *parts);
