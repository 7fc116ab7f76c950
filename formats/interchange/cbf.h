// SPDX-License-Identifier: Apache-2.0
//
// Compact Backtrace Format: a backtrace as a few bytes per frame (docs/formats/cbf.md).
//
// The writer streams into the caller's buffer and never allocates, so a backtrace of
// any depth is encoded while it is unwound. The reader is an iterator: a run of equal
// frames comes out as one item with a count, so that no input makes it produce more
// items than it has bytes. Both support 16-, 32- and 64-bit words.
//
// What Swift 6.2 writes differs from the specification in two ways (the first address
// is relative, no instruction ends the data). The reader accepts both forms; the writer
// can produce either.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"

// CBF_OVERHEAD is what the data needs in addition to its frames: the first byte and
// `end`.
#define CBF_OVERHEAD 2

// CBF_FRAME_MAX is the longest a frame can be: an opcode and eight bytes.
#define CBF_FRAME_MAX 9

enum cbf_op {
    CBF_END,
    CBF_TRUNC, // as end, but there were more frames than were recorded
    CBF_PC,
    CBF_RETURN_ADDRESS,
    CBF_ASYNC,
    CBF_OMIT, // frames were left out here
    CBF_REP,  // repeats the previous frame
};

// cbf_op_name gives the operation as the specification spells it: "pc", "ra", "omit".
const char *cbf_op_name(enum cbf_op op);

// A cbf_instruction is one instruction of the data.
struct cbf_instruction {
    enum cbf_op op;
    bool absolute;    // pc, ra, async: value is the address, not a difference
    size_t offset;    // of its first byte
    size_t size;      // in bytes
    uint64_t value;   // the operand, sign-extended to the word where it is an address
    uint64_t address; // pc, ra, async: what it computes
};

// A cbf_frame is a frame, or what stands for frames: pc, ra, async, omit or trunc.
struct cbf_frame {
    enum cbf_op kind;
    uint64_t value; // the address; for omit the number of frames left out
    uint64_t times; // how many times in a row: at least 1
};

struct cbf_reader {
    struct cursor input;
    uint64_t address_mask;
    unsigned word_bits; // 16, 32 or 64
    unsigned version;
    bool complete;         // end or trunc was read
    size_t offset;         // of the next instruction, or of the one that failed
    uint64_t address;      // the last one computed
    struct cbf_frame last; // what rep repeats; times is 0 before any frame
};

// cbf_reader_init begins to read size bytes, which must outlive the reader.
// CH_ERR_TRUNCATED: there are no bytes. CH_ERR_UNSUPPORTED: another version or word
// size.
CH_CHECKED enum ch_status cbf_reader_init(struct cbf_reader *reader, const void *bytes,
                                          size_t size);

// cbf_next_instruction reads one instruction and expands nothing. CH_END: after end or
// trunc, or where the data stops between instructions (complete tells which). After a
// failure nothing more can be read.
CH_CHECKED enum ch_status cbf_next_instruction(struct cbf_reader *reader,
                                               struct cbf_instruction *out);

// cbf_next_frame reads up to the next frame. A rep gives the previous frame once more,
// with times as its count. CH_END and failures are those of cbf_next_instruction; a rep
// before any frame is malformed.
CH_CHECKED enum ch_status cbf_next_frame(struct cbf_reader *reader,
                                         struct cbf_frame *out);

enum cbf_dialect {
    CBF_SPECIFIED, // the first address is absolute, `end` is last
    CBF_SWIFT_6_2, // byte for byte what Swift 6.2 writes: neither
};

struct cbf_writer {
    uint8_t *bytes; // bytes after size may be overwritten too, up to capacity
    size_t capacity;
    size_t size; // of the data in bytes; final after cbf_write_end or a trunc
    enum cbf_dialect dialect;
    unsigned word_bits;
    bool any_address;
    bool ended;
    uint64_t address;      // the last one written, sign-extended
    enum cbf_op last_kind; // CBF_END before any frame
    uint64_t last_value;
    uint64_t repeats; // of the last frame, counted but not yet written
};

// cbf_writer_init begins a backtrace of word_bits (16, 32 or 64) in buffer.
// CH_ERR_LIMIT: capacity is less than CBF_OVERHEAD. CH_ERR_UNSUPPORTED: no such word
// size.
CH_CHECKED enum ch_status cbf_writer_init(struct cbf_writer *writer, unsigned word_bits,
                                          enum cbf_dialect dialect, void *buffer,
                                          size_t capacity);

// cbf_write_frame adds a frame. kind is pc, ra or async (value is the address,
// truncated to the word), omit (value is the number of frames left out) or trunc, which
// ends the backtrace: later frames are dropped. CH_ERR_LIMIT: there is no room for it;
// nothing has changed, and there is always room for the ending.
CH_CHECKED enum ch_status cbf_write_frame(struct cbf_writer *writer, enum cbf_op kind,
                                          uint64_t value);

// cbf_write_calls adds count return addresses, as cbf_write_frame would one by one.
// CH_ERR_LIMIT: there is no room for all of them.
CH_CHECKED enum ch_status cbf_write_calls(struct cbf_writer *writer,
                                          const uint64_t *addresses, size_t count);

// cbf_write_end completes the backtrace. After a trunc it does nothing.
void cbf_write_end(struct cbf_writer *writer);

// cbf_write_stop completes the bytes without an `end`: the data simply stops.
void cbf_write_stop(struct cbf_writer *writer);
