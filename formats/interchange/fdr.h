// SPDX-License-Identifier: Apache-2.0
//
// XRay flight data recorder traces, versions 1 to 5, both byte orders
// (docs/formats/fdr.md): which functions a thread entered and left, and when.
//
// A trace is a header and buffers, each of one thread. A buffer is a sequence of
// records, which can only be read in order because times are relative to the record
// before. The reader is the state machine of the format's grammar. Damage does not end
// reading: fdr_next_record reports what is wrong and where, and continues where that is
// possible. Users: `crashhook fdr dump`, `export`, and the agent, for the buffers in a
// process's memory.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"
#include "base/text.h"

enum {
    FDR_HEADER_SIZE = 32,
    FDR_EXTENTS_SIZE = 16,
    FDR_FUNCTION_SIZE = 8,
    FDR_METADATA_SIZE = 16,
    FDR_VERSION_MAX = 5,
};

// fdr_kind has the format's numbers for metadata kinds; function records have none
// there.
enum fdr_kind {
    FDR_NEW_BUFFER,
    FDR_END_OF_BUFFER,
    FDR_NEW_CPU,
    FDR_TSC_WRAP,
    FDR_WALL_CLOCK,
    FDR_CUSTOM_EVENT,
    FDR_CALL_ARGUMENT,
    FDR_BUFFER_EXTENTS,
    FDR_TYPED_EVENT,
    FDR_PID,
    FDR_FUNCTION,
    FDR_KIND_COUNT,
};

enum fdr_action { FDR_ENTER, FDR_EXIT, FDR_TAIL_EXIT, FDR_ENTER_ARGS, FDR_ACTIONS };

struct fdr_header {
    uint16_t version;
    uint16_t type; // 1: flight data recorder; 0: basic mode (xray_modes.h)
    bool big_endian;
    bool constant_tsc;
    bool nonstop_tsc;
    uint64_t cycles_per_second;
    uint64_t buffer_size; // version 1: of each buffer in the file
};

// An fdr_record has the members of its kind; the others are 0.
struct fdr_record {
    size_t offset; // of its first byte in the input
    enum fdr_kind kind;
    enum fdr_action action; // FUNCTION
    uint32_t function;      // FUNCTION: its id
    int32_t tid;            // NEW_BUFFER, and all that follow it in its buffer
    int64_t delta;          // FUNCTION, TYPED_EVENT, CUSTOM_EVENT from version 5
    uint64_t tsc;           // NEW_CPU, TSC_WRAP, CUSTOM_EVENT; else the running counter
    uint64_t seconds;       // WALL_CLOCK
    uint64_t argument;      // CALL_ARGUMENT
    uint32_t microseconds;  // WALL_CLOCK
    int32_t pid;            // PID
    uint64_t size;          // BUFFER_EXTENTS, CUSTOM_EVENT, TYPED_EVENT
    const uint8_t *data;    // size bytes of an event, in the input
    uint16_t cpu;           // NEW_CPU; CUSTOM_EVENT of version 4
    uint16_t type;          // TYPED_EVENT
};

// An fdr_problem is what fdr_next_record found wrong.
struct fdr_problem {
    size_t offset;
    enum ch_status status;
    const char *what; // "the record ends outside its buffer"
    bool harmless;    // it causes no missing or doubtful data
};

struct fdr_reader {
    struct fdr_header header;
    struct fdr_problem problem; // of the last call that found one
    const uint8_t *begin;
    size_t begin_offset;  // of begin in the trace
    struct cursor file;   // after the buffer that is being read
    struct cursor buffer; // empty between buffers
    uint32_t expected;    // bit k: the grammar allows kind k next
    uint64_t tsc;
    int32_t tid;
    bool in_buffer;
    bool buffer_is_cut; // the input ends before the buffer does
    bool zero_ends;     // a record of zeros ends the buffer, as in memory
};

// fdr_reader_init reads the header of a trace of size bytes, which must outlive reader.
// CH_ERR_UNSUPPORTED: another version or type of trace, which reader->header has.
CH_CHECKED enum ch_status fdr_reader_init(struct fdr_reader *reader, const void *bytes,
                                          size_t size);

// fdr_reader_init_buffer prepares to read one buffer that a thread is still filling in
// memory: from its first record (version 2 and later: without the extents) up to size,
// or up to the zeros where nothing was recorded yet.
void fdr_reader_init_buffer(struct fdr_reader *reader, const struct fdr_header *header,
                            const void *bytes, size_t size);

// fdr_read_extents reads the record that precedes each buffer of version 2 and later.
// CH_ERR_MALFORMED: it is another record.
CH_CHECKED enum ch_status fdr_read_extents(const struct fdr_header *header,
                                           const void *bytes, size_t size,
                                           uint64_t *out);

// An fdr_part is some of the bytes of one buffer.
struct fdr_part {
    const void *bytes;
    size_t size;
    size_t offset; // of bytes in the trace
    bool is_cut;   // the trace ends before the buffer does
};

// fdr_reader_begin_part prepares to read one buffer of a trace that is not in memory as
// a whole. part is its beginning, without the extents of version 2 and later. Unless it
// is all of the buffer, the caller passes the following bytes to fdr_reader_next_part
// while at least one whole record is left.
void fdr_reader_begin_part(struct fdr_reader *reader, const struct fdr_header *header,
                           const struct fdr_part *part);

// fdr_reader_left gives the number of bytes of the current part that were not read yet.
size_t fdr_reader_left(const struct fdr_reader *reader);

// fdr_reader_next_part continues in part, which begins with the bytes that were left.
void fdr_reader_next_part(struct fdr_reader *reader, const struct fdr_part *part);

// fdr_next_record reads one record. CH_END: there are no more. Any other failure is a
// problem that reader->problem describes; reading may continue, and always ends.
CH_CHECKED enum ch_status fdr_next_record(struct fdr_reader *reader,
                                          struct fdr_record *out);

// fdr_kind_name gives the kind as listings spell it ("wall-clock"), fdr_action_name the
// action ("tail-exit").
const char *fdr_kind_name(enum fdr_kind kind);
const char *fdr_action_name(enum fdr_action action);

// An fdr_writer appends a little-endian trace of version 1, 3 or 5 to a text. Reserved
// fields are zero.
struct fdr_writer {
    struct text *to;
    struct fdr_header header;
    size_t buffer; // offset in to of the current buffer
    uint64_t tsc;  // as a reader of the buffer has it
};

// fdr_writer_init writes the header. CH_ERR_UNSUPPORTED: version is not 1, 3 or 5.
// CH_ERR_MALFORMED: in version 1, buffer_size cannot hold a buffer or is no multiple of
// 8.
CH_CHECKED enum ch_status fdr_writer_init(struct fdr_writer *writer,
                                          const struct fdr_header *header,
                                          struct text *to);

// An fdr_buffer_start has the contents of the records that begin every buffer.
struct fdr_buffer_start {
    int32_t tid;
    int32_t pid;
    uint64_t seconds;
    uint32_t microseconds;
    uint16_t cpu;
    uint64_t tsc;
};

// fdr_writer_begin starts a buffer of thread start->tid with those records.
void fdr_writer_begin(struct fdr_writer *writer, const struct fdr_buffer_start *start);

// fdr_write_record adds one record of the body. CH_ERR_LIMIT: it does not fit the
// buffer, which has to be ended first. CH_ERR_UNSUPPORTED: the version has no such
// record, or it is written by fdr_writer_begin or fdr_writer_end.
CH_CHECKED enum ch_status fdr_write_record(struct fdr_writer *writer,
                                           const struct fdr_record *record);

// fdr_write_function adds a function's record at tsc, preceded by the records that its
// time needs. CH_ERR_LIMIT: as for fdr_write_record.
CH_CHECKED enum ch_status fdr_write_function(struct fdr_writer *writer,
                                             enum fdr_action action, uint32_t function,
                                             uint64_t tsc);

// fdr_writer_end ends the buffer: version 1 pads it, later ones write its size.
void fdr_writer_end(struct fdr_writer *writer);
