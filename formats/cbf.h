// SPDX-License-Identifier: Apache-2.0
//
// Compact Backtrace Format: a backtrace as a few bytes per frame (docs/formats/cbf.md).
//
// The writer streams into a buffer of the caller's and never allocates, so a backtrace
// of any depth is encoded while it is unwound. The reader is an iterator: a run of
// equal frames comes out as one item with a count, so no input makes it produce more
// items than it has bytes. Both know 16-, 32- and 64-bit words.
//
// What Swift 6.2 writes differs from the specification in two ways (the first address
// is relative, nothing ends the data); the reader takes both, the writer does either.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"

// CBF_OVERHEAD is what the data holds beside its frames: the first byte and `end`.
#define CBF_OVERHEAD 2

// CBF_FRAME_MAX is the longest a frame can be: an opcode and eight bytes.
#define CBF_FRAME_MAX 9

enum cbf_op {
    CBF_END,
    CBF_TRUNC, // as end, but the backtrace goes on where we stopped
    CBF_PC,
    CBF_RETURN_ADDRESS,
    CBF_ASYNC,
    CBF_OMIT, // frames were left out here
    CBF_REP,  // the frame before, again
};

// cbf_op_name is the operation as documents spell it: "pc", "ra", "omit".
const char *cbf_op_name(enum cbf_op op);

// An instruction as it stands in the data.
struct cbf_instruction {
    enum cbf_op op;
    bool absolute;    // pc, ra, async: value is the address, not a distance to it
    size_t offset;    // of its first byte
    size_t size;      // in bytes
    uint64_t value;   // the operand, sign-extended to the word where it is an address
    uint64_t address; // pc, ra, async: what it computes
};

// A frame, or what stands in for frames: pc, ra, async, omit or trunc.
struct cbf_frame {
    enum cbf_op kind;
    uint64_t value; // the address; for omit how many frames were left out
    uint64_t times; // how often it stands here in a row: at least 1
};

struct cbf_reader {
    struct cursor input;
    uint64_t address_mask;
    unsigned word_bits; // 16, 32 or 64
    unsigned version;
    bool complete;         // end or trunc was read
    size_t offset;         // of the instruction to come, or of the one that failed
    uint64_t address;      // the last one computed
    struct cbf_frame last; // what rep repeats; times is 0 before any frame
};

// cbf_reader_init begins to read size bytes, which must outlive the reader.
// CH_ERR_TRUNCATED: there are none. CH_ERR_UNSUPPORTED: another version or word size.
CH_CHECKED enum ch_status cbf_reader_init(struct cbf_reader *reader, const void *bytes,
                                          size_t size);

// cbf_next_instruction reads one instruction, expanding nothing. CH_END: after end or
// trunc, or where the data stops between instructions (complete tells them apart).
// After a failure there is nothing more to read.
CH_CHECKED enum ch_status cbf_next_instruction(struct cbf_reader *reader,
                                               struct cbf_instruction *out);

// cbf_next_frame reads to the next frame. A rep gives the frame before once more, with
// times saying how often. CH_END and failures as above; a rep of nothing is malformed.
CH_CHECKED enum ch_status cbf_next_frame(struct cbf_reader *reader,
                                         struct cbf_frame *out);

enum cbf_dialect {
    CBF_SPECIFIED, // first address absolute, `end` at the end
    CBF_SWIFT_6_2, // byte for byte what Swift 6.2 writes: neither
};

struct cbf_writer {
    uint8_t *bytes; // those behind size may be written to as well, up to capacity
    size_t capacity;
    size_t size; // of what stands in bytes; final after cbf_write_end or a trunc
    enum cbf_dialect dialect;
    unsigned word_bits;
    bool any_address;
    bool ended;
    uint64_t address;      // the last one written, sign-extended
    enum cbf_op last_kind; // CBF_END before any frame
    uint64_t last_value;
    uint64_t repeats; // of that frame, counted but not yet written
};

// cbf_writer_init begins a backtrace of word_bits (16, 32 or 64) in buffer.
// CH_ERR_LIMIT: capacity is under CBF_OVERHEAD. CH_ERR_UNSUPPORTED: no such word size.
CH_CHECKED enum ch_status cbf_writer_init(struct cbf_writer *writer, unsigned word_bits,
                                          enum cbf_dialect dialect, void *buffer,
                                          size_t capacity);

// cbf_write_frame adds a frame: kind is pc, ra, async (value is the address, of which
// the word's bits count), omit (value frames left out) or trunc, after which the
// backtrace is over and further frames are dropped. CH_ERR_LIMIT: no room for it;
// nothing changed and there is always room for the ending.
CH_CHECKED enum ch_status cbf_write_frame(struct cbf_writer *writer, enum cbf_op kind,
                                          uint64_t value);

// cbf_write_end completes the backtrace; with a trunc written it does nothing.
void cbf_write_end(struct cbf_writer *writer);

// cbf_write_stop completes the bytes without an `end`: the data simply stops.
void cbf_write_stop(struct cbf_writer *writer);
