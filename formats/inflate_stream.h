// SPDX-License-Identifier: Apache-2.0
//
// An inflate_stream decodes deflate (RFC 1951) block by block: from memory to memory,
// as inflate.h does, or from any bit of a stream, given the bytes before, in pieces.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"
#include "formats/inflate_table.h"

enum { INFLATE_WINDOW = 32 << 10 }; // how far back a repetition may reach

// An inflate_pipe is where a stream comes from and where its contents go, in pieces.
struct inflate_pipe {
    // read gives at most size bytes of the stream, 0 at its end.
    size_t (*read)(void *context, void *to, size_t size);
    // write takes the next bytes of the contents; false: they cannot be kept.
    bool (*write)(void *context, const void *from, size_t size);
    void *context;
};

// inflate_bits is the place in the stream. Bits are taken from the low end of held,
// which has count of them; above those may be more of the next byte's. In a stream that
// has ended count may become negative, for bits that were not there.
struct inflate_bits {
    const uint8_t *at;
    const uint8_t *end;
    uint64_t held;
    int count;
};

// An inflate_window is the contents before a place, as far as repetitions may reach.
struct inflate_window {
    const uint8_t *bytes;
    size_t size;
};

// An inflate_stream is one being decoded. Of its members only sum is for others: the
// checksum (RFC 1950, section 8.2) of what was written since the last place.
struct inflate_stream {
    struct inflate_bits bits;
    uint8_t *begin; // repetitions reach back to here
    uint8_t *done;  // before it, bytes are in the checksum, and were written
    uint8_t *out;
    uint8_t *out_end;
    uint64_t left; // bytes that may be done
    uint32_t sum;
    const struct inflate_pipe *pipe; // NULL: all of the stream is in memory
    bool passes;                     // what was decoded goes to pipe
    uint8_t *input;                  // of pipe
    uint64_t taken;                  // bytes of pipe
    bool input_ended;
    uint32_t literals[INFLATE_LITERAL_ENTRIES];
    uint32_t distances[INFLATE_DISTANCE_ENTRIES];
};

// inflate_stream_over begins a stream that is in memory, of size bytes of contents.
void inflate_stream_over(struct inflate_stream *z, struct cursor stream, uint8_t *out,
                         size_t size);

// inflate_stream_open makes a stream of pipe, which has to be placed next.
CH_CHECKED enum ch_status inflate_stream_open(struct inflate_stream *z,
                                              const struct inflate_pipe *pipe);
void inflate_stream_close(struct inflate_stream *z);

// inflate_stream_place goes to a bit of the byte that pipe reads next; left bytes of
// contents may follow what is before it.
void inflate_stream_place(struct inflate_stream *z, unsigned bit,
                          struct inflate_window before, uint64_t left);

// inflate_stream_keep has a stream whose contents were flushed keep what follows in
// memory of the caller's, size bytes and no less than INFLATE_WINDOW, instead of
// passing it to pipe. In front of that it copies the contents that repetitions may
// reach, and gives their size. A block that has no room is CH_ERR_MALFORMED. The
// checksum begins anew.
size_t inflate_stream_keep(struct inflate_stream *z, uint8_t *memory, size_t size);

// inflate_stream_head reads the header of a zlib stream (RFC 1950). CH_ERR_MALFORMED:
// it is none. CH_ERR_UNSUPPORTED: it needs a dictionary.
CH_CHECKED enum ch_status inflate_stream_head(struct inflate_stream *z);

// inflate_stream_block decodes a block; some of it may be written later. CH_ERR_IO:
// write failed.
CH_CHECKED enum ch_status inflate_stream_block(struct inflate_stream *z,
                                               bool *out_last);

// inflate_stream_flush writes what was decoded. CH_ERR_MALFORMED: it is more than may
// follow.
CH_CHECKED enum ch_status inflate_stream_flush(struct inflate_stream *z);

// inflate_stream_check flushes, and compares the size, and the checksum that follows
// the last block.
CH_CHECKED enum ch_status inflate_stream_check(struct inflate_stream *z);

// inflate_stream_bit is where the next block begins, in bits from the byte at which z
// was placed.
uint64_t inflate_stream_bit(const struct inflate_stream *z);

// inflate_stream_window gives the last contents, valid until the next block.
struct inflate_window inflate_stream_window(const struct inflate_stream *z);
