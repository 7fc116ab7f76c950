// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/fdr.h"

#include <endian.h>
#include <string.h>

enum {
    TYPE_FLIGHT_RECORDER = 1,
    CONSTANT_TSC = 1,
    NONSTOP_TSC = 2,
    BUFFER_SIZE_OFFSET = 16,
    // Version 1: the three records that a buffer starts with.
    BUFFER_SIZE_MIN = 3 * FDR_METADATA_SIZE,
};

#define BIT(kind) (1u << (kind))
#define BODY (BIT(FDR_NEW_CPU) | BIT(FDR_TSC_WRAP) | BIT(FDR_FUNCTION))
#define EVENTS (BIT(FDR_CUSTOM_EVENT) | BIT(FDR_TYPED_EVENT))

const char *fdr_kind_name(enum fdr_kind kind)
{
    static const char *const names[] = {
        [FDR_NEW_BUFFER] = "new-buffer",
        [FDR_END_OF_BUFFER] = "end-of-buffer",
        [FDR_NEW_CPU] = "new-cpu",
        [FDR_TSC_WRAP] = "tsc-wrap",
        [FDR_WALL_CLOCK] = "wall-clock",
        [FDR_CUSTOM_EVENT] = "custom-event",
        [FDR_CALL_ARGUMENT] = "call-argument",
        [FDR_BUFFER_EXTENTS] = "buffer-extents",
        [FDR_TYPED_EVENT] = "typed-event",
        [FDR_PID] = "pid",
        [FDR_FUNCTION] = "function",
    };
    return (unsigned)kind < FDR_KIND_COUNT ? names[kind] : "unknown";
}

const char *fdr_action_name(enum fdr_action action)
{
    static const char *const names[] = {
        [FDR_ENTER] = "enter",
        [FDR_EXIT] = "exit",
        [FDR_TAIL_EXIT] = "tail-exit",
        [FDR_ENTER_ARGS] = "enter-args",
    };
    return (unsigned)action < FDR_ACTIONS ? names[action] : "unknown";
}

// is_big_endian reads the first two bytes, the version, in both orders: a trace has no
// magic number, but its version is small in the order in which it was written.
static bool is_big_endian(struct cursor c)
{
    uint8_t first = cursor_u8(&c);
    return first == 0 && cursor_u8(&c) != 0;
}

enum ch_status fdr_reader_init(struct fdr_reader *reader, const void *bytes,
                               size_t size)
{
    struct fdr_header header = { 0 };
    struct cursor c = cursor_over(bytes, size);
    *reader = (struct fdr_reader){ .begin = bytes };
    c.big_endian = is_big_endian(c);
    header.big_endian = c.big_endian;
    header.version = cursor_u16(&c);
    header.type = cursor_u16(&c);
    uint32_t bits = cursor_u32(&c);
    header.cycles_per_second = cursor_u64(&c);
    header.buffer_size = cursor_u64(&c);
    cursor_skip(&c, sizeof(uint64_t)); // reserved
    if (!cursor_ok(&c))
        return CH_ERR_TRUNCATED;

    // Bit fields follow the byte order: the first is the highest bit of a big-endian
    // word. A writer that computes such a word as a number has it lowest, so either
    // counts.
    header.constant_tsc = (bits & CONSTANT_TSC) != 0 || (c.big_endian && bits >> 31);
    header.nonstop_tsc = (bits & NONSTOP_TSC) != 0 || (c.big_endian && bits >> 30 & 1);
    reader->header = header;
    if (header.version == 0 || header.version > FDR_VERSION_MAX ||
        header.type != TYPE_FLIGHT_RECORDER)
        return CH_ERR_UNSUPPORTED;
    reader->file = c;
    return CH_OK;
}

void fdr_reader_init_buffer(struct fdr_reader *reader, const struct fdr_header *header,
                            const void *bytes, size_t size)
{
    *reader = (struct fdr_reader){ .header = *header,
                                   .begin = bytes,
                                   .buffer = cursor_over(bytes, size),
                                   .expected = BIT(FDR_NEW_BUFFER),
                                   .in_buffer = true,
                                   .zero_ends = true };
    reader->buffer.big_endian = header->big_endian;
    reader->file = cursor_over(NULL, 0);
}

void fdr_reader_next_part(struct fdr_reader *reader, const struct fdr_part *part)
{
    reader->begin = part->bytes;
    reader->begin_offset = part->offset;
    reader->buffer = cursor_over(part->bytes, part->size);
    reader->buffer.big_endian = reader->header.big_endian;
    reader->buffer_is_cut = part->is_cut;
}

void fdr_reader_begin_part(struct fdr_reader *reader, const struct fdr_header *header,
                           const struct fdr_part *part)
{
    *reader = (struct fdr_reader){ .header = *header,
                                   .expected = BIT(FDR_NEW_BUFFER),
                                   .in_buffer = true };
    reader->file = cursor_over(NULL, 0);
    fdr_reader_next_part(reader, part);
}

size_t fdr_reader_left(const struct fdr_reader *reader)
{
    return reader->in_buffer ? cursor_left(&reader->buffer) : 0;
}

static size_t fdr_offset_of(const struct fdr_reader *reader, const struct cursor *c)
{
    size_t read = c->at != NULL ? (size_t)(c->at - reader->begin) : 0;
    return reader->begin_offset + read;
}

static enum ch_status fdr_complain(struct fdr_reader *reader, size_t offset,
                                   enum ch_status status, const char *what)
{
    reader->problem =
        (struct fdr_problem){ .offset = offset, .status = status, .what = what };
    return status;
}

// fdr_give_up leaves the current buffer, whose rest cannot be read.
static enum ch_status fdr_give_up(struct fdr_reader *reader, enum ch_status status,
                                  const char *what)
{
    reader->in_buffer = false;
    return fdr_complain(reader, fdr_offset_of(reader, &reader->buffer), status, what);
}

// record_is_cut gives up on a truncated record.
static enum ch_status record_is_cut(struct fdr_reader *reader)
{
    if (reader->buffer_is_cut)
        return fdr_give_up(reader, CH_ERR_TRUNCATED, "the input ends inside a record");
    return fdr_give_up(reader, CH_ERR_MALFORMED, "the record ends outside its buffer");
}

// fdr_begin_buffer begins a buffer of size bytes, or of as many as there are.
static void fdr_begin_buffer(struct fdr_reader *reader, uint64_t size)
{
    size_t left = cursor_left(&reader->file);
    reader->buffer_is_cut = size > left;
    reader->buffer =
        cursor_child(&reader->file, reader->buffer_is_cut ? left : (size_t)size);
    reader->expected = BIT(FDR_NEW_BUFFER);
    reader->in_buffer = true;
    reader->tsc = 0;
    reader->tid = 0;
}

// begin_version_1 begins a buffer of the size in the header. If that is 0, the rest of
// the trace is one buffer.
static enum ch_status begin_version_1(struct fdr_reader *reader)
{
    if (reader->header.buffer_size >= BUFFER_SIZE_MIN) {
        fdr_begin_buffer(reader, reader->header.buffer_size);
        return CH_OK;
    }
    fdr_begin_buffer(reader, cursor_left(&reader->file));
    return fdr_complain(reader, BUFFER_SIZE_OFFSET, CH_ERR_MALFORMED,
                        "the buffer size cannot hold a buffer");
}

// metadata_of gives a cursor over a metadata record's data, and moves c past the
// record.
static struct cursor metadata_of(struct cursor *c)
{
    struct cursor data = cursor_child(c, FDR_METADATA_SIZE);
    cursor_skip(&data, 1);
    return data;
}

// read_kind gives the kind of the next record. CH_ERR_UNSUPPORTED: it is unknown.
static enum ch_status read_kind(struct cursor c, enum fdr_kind *out)
{
    bool big_endian = c.big_endian;
    uint8_t first = cursor_u8(&c);
    unsigned kind = big_endian ? first & 0x7f : first >> 1;
    if ((big_endian ? first >> 7 : first & 1) == 0)
        kind = FDR_FUNCTION;
    else if (kind > FDR_PID)
        return CH_ERR_UNSUPPORTED;
    *out = kind;
    return CH_OK;
}

static enum ch_status read_extents(struct cursor *c, uint64_t *out)
{
    enum fdr_kind kind = FDR_FUNCTION;
    if (read_kind(*c, &kind) != CH_OK || kind != FDR_BUFFER_EXTENTS)
        return CH_ERR_MALFORMED;
    struct cursor data = metadata_of(c);
    *out = cursor_u64(&data);
    return cursor_ok(&data) ? CH_OK : CH_ERR_TRUNCATED;
}

enum ch_status fdr_read_extents(const struct fdr_header *header, const void *bytes,
                                size_t size, uint64_t *out)
{
    struct cursor c = cursor_over(bytes, size);
    c.big_endian = header->big_endian;
    return read_extents(&c, out);
}

// begin_later begins a buffer of version 2 or later, which starts with its own size.
static enum ch_status begin_later(struct fdr_reader *reader, struct fdr_record *out)
{
    size_t offset = fdr_offset_of(reader, &reader->file);
    uint64_t size = 0;
    enum ch_status status = read_extents(&reader->file, &size);
    if (status != CH_OK) {
        reader->file = cursor_over(NULL, 0);
        return fdr_complain(reader, offset, status,
                            status == CH_ERR_TRUNCATED
                                ? "the input ends inside a record"
                                : "there is no buffer where one should start");
    }
    *out = (struct fdr_record){ .offset = offset,
                                .kind = FDR_BUFFER_EXTENTS,
                                .size = size };
    if (size != 0) // a thread that recorded nothing leaves an empty one
        fdr_begin_buffer(reader, size);
    return CH_OK;
}

// end_buffer is called where the bytes of a buffer are used up.
static enum ch_status end_buffer(struct fdr_reader *reader)
{
    bool ended = reader->expected == 0;
    bool began = (reader->expected & BIT(FDR_FUNCTION)) != 0;
    if (reader->buffer_is_cut)
        return fdr_give_up(reader, CH_ERR_TRUNCATED,
                           "the input ends before the buffer does");
    reader->in_buffer = false;
    if (ended || reader->zero_ends)
        return CH_OK;
    if (!began)
        return fdr_give_up(reader, CH_ERR_MALFORMED,
                           "the buffer ends before its first records do");
    if (reader->header.version > 1)
        return CH_OK;
    // The grammar requires one. Without it the buffer still has its full size.
    (void)!fdr_give_up(reader, CH_ERR_MALFORMED,
                       "the buffer is full and has no end-of-buffer record");
    reader->problem.harmless = true;
    return CH_ERR_MALFORMED;
}

// expected_after gives the kinds that the grammar allows after record.
static uint32_t expected_after(const struct fdr_header *header,
                               const struct fdr_record *record)
{
    uint32_t body = BODY | BIT(FDR_CUSTOM_EVENT);
    body |= header->version == 1 ? BIT(FDR_END_OF_BUFFER) : BIT(FDR_TYPED_EVENT);
    switch (record->kind) {
    case FDR_BUFFER_EXTENTS:
        return BIT(FDR_NEW_BUFFER);
    case FDR_NEW_BUFFER:
        return BIT(FDR_WALL_CLOCK);
    case FDR_WALL_CLOCK:
        return BIT(FDR_NEW_CPU) | (header->version >= 3 ? BIT(FDR_PID) : 0);
    case FDR_PID:
        return BIT(FDR_NEW_CPU);
    case FDR_END_OF_BUFFER:
        return 0;
    case FDR_FUNCTION:
        return record->action == FDR_ENTER_ARGS ? body | BIT(FDR_CALL_ARGUMENT) : body;
    case FDR_CALL_ARGUMENT:
        return body | BIT(FDR_CALL_ARGUMENT);
    default:
        return body;
    }
}

static bool read_function(struct fdr_reader *reader, struct cursor *c,
                          struct fdr_record *out)
{
    uint32_t word = cursor_u32(c);
    uint32_t delta = cursor_u32(c);
    if (!cursor_ok(c))
        return false;
    out->action = c->big_endian ? word >> 28 & 7 : word >> 1 & 7;
    out->function = c->big_endian ? word & 0x0fffffff : word >> 4;
    out->delta = delta;
    reader->tsc += delta;
    return true;
}

// read_event_tsc reads a custom event's time. Up to version 4 that is a counter of its
// own, which later records are not relative to.
static void read_event_tsc(struct fdr_reader *reader, struct cursor *data,
                           struct fdr_record *out)
{
    if (reader->header.version == FDR_VERSION_MAX) {
        out->delta = (int32_t)cursor_u32(data);
        reader->tsc += (uint64_t)out->delta;
        out->tsc = reader->tsc;
        return;
    }
    out->tsc = cursor_u64(data);
    if (reader->header.version == 4)
        out->cpu = cursor_u16(data);
}

static void read_metadata(struct fdr_reader *reader, struct cursor *data,
                          struct fdr_record *out)
{
    switch (out->kind) {
    case FDR_NEW_BUFFER:
        // Version 1 specifies 16 bits, but all its writers write 32.
        reader->tid = (int32_t)cursor_u32(data);
        break;
    case FDR_NEW_CPU:
        out->cpu = cursor_u16(data);
        reader->tsc = cursor_u64(data);
        break;
    case FDR_TSC_WRAP:
        reader->tsc = cursor_u64(data);
        break;
    case FDR_WALL_CLOCK:
        out->seconds = cursor_u64(data);
        out->microseconds = cursor_u32(data);
        break;
    case FDR_CALL_ARGUMENT:
        out->argument = cursor_u64(data);
        break;
    case FDR_BUFFER_EXTENTS:
        out->size = cursor_u64(data);
        break;
    case FDR_PID:
        out->pid = (int32_t)cursor_u32(data);
        break;
    default:
        break;
    }
}

// read_event reads an event's record and the data after it, which is not padded.
static bool read_event(struct fdr_reader *reader, struct cursor *data, struct cursor *c,
                       struct fdr_record *out)
{
    int32_t size = (int32_t)cursor_u32(data);
    if (out->kind == FDR_CUSTOM_EVENT) {
        read_event_tsc(reader, data, out);
    } else {
        out->delta = (int32_t)cursor_u32(data);
        out->type = cursor_u16(data);
        reader->tsc += (uint64_t)out->delta;
        out->tsc = reader->tsc;
    }
    if (!cursor_ok(data) || size < 0)
        return false;
    out->size = (uint64_t)size;
    out->data = cursor_take(c, (size_t)size);
    return cursor_ok(c);
}

// fdr_read_record reads one record of a kind that may come here.
static enum ch_status fdr_read_record(struct fdr_reader *reader, enum fdr_kind kind,
                                      struct fdr_record *out)
{
    struct fdr_record record = { .kind = kind };
    struct cursor c = reader->buffer;
    bool read;
    record.offset = fdr_offset_of(reader, &c);
    if (kind == FDR_FUNCTION) {
        read = read_function(reader, &c, &record);
    } else {
        struct cursor data = metadata_of(&c);
        bool event = (BIT(kind) & EVENTS) != 0;
        if (event)
            read = read_event(reader, &data, &c, &record);
        else
            read_metadata(reader, &data, &record);
        read = event ? read : cursor_ok(&data);
    }
    if (!read)
        return record_is_cut(reader);
    if (record.action >= FDR_ACTIONS)
        return fdr_give_up(reader, CH_ERR_UNSUPPORTED, "an action that there is not");

    record.tid = reader->tid;
    if (kind != FDR_CUSTOM_EVENT)
        record.tsc = reader->tsc;
    reader->expected = expected_after(&reader->header, &record);
    reader->buffer = c;
    if (kind == FDR_END_OF_BUFFER) // the rest of the buffer is not read
        cursor_skip(&reader->buffer, cursor_left(&reader->buffer));
    *out = record;
    return CH_OK;
}

// fdr_is_blank reports that nothing was recorded here yet: function ids begin with 1.
static bool fdr_is_blank(struct cursor c)
{
    return cursor_u64(&c) == 0;
}

static enum ch_status read_in_buffer(struct fdr_reader *reader, struct fdr_record *out)
{
    enum fdr_kind kind;
    if (read_kind(reader->buffer, &kind) != CH_OK)
        return fdr_give_up(reader, CH_ERR_UNSUPPORTED,
                           "a record of a kind there is not");
    if (kind == FDR_END_OF_BUFFER && reader->header.version > 1)
        return fdr_give_up(reader, CH_ERR_MALFORMED,
                           "an end-of-buffer record, which version 1 alone has");
    if ((reader->expected & BIT(kind)) == 0) {
        reader->expected |= BIT(kind); // it is read by the next call
        return fdr_complain(reader, fdr_offset_of(reader, &reader->buffer),
                            CH_ERR_MALFORMED,
                            "the record may not follow the one before it");
    }
    return fdr_read_record(reader, kind, out);
}

// fdr_next_function reads a function's record in place, since traces consist of little
// else. False: what comes next is something else, or not as it has to be.
static bool fdr_next_function(struct fdr_reader *reader, struct fdr_record *out)
{
    const struct cursor *c = &reader->buffer;
    const bool big_endian = c->big_endian;
    uint32_t word;
    uint32_t delta;
    if (!reader->in_buffer || reader->zero_ends || cursor_left(c) < FDR_FUNCTION_SIZE ||
        (reader->expected & BIT(FDR_FUNCTION)) == 0)
        return false;
    memcpy(&word, c->at, sizeof(word));
    memcpy(&delta, c->at + sizeof(word), sizeof(delta));
    word = big_endian ? be32toh(word) : le32toh(word);
    delta = big_endian ? be32toh(delta) : le32toh(delta);
    unsigned action = big_endian ? word >> 28 : word >> 1 & 7;
    if ((!big_endian && (word & 1) != 0) || action >= FDR_ACTIONS)
        return false;
    reader->tsc += delta;
    *out = (struct fdr_record){ .offset = fdr_offset_of(reader, c),
                                .kind = FDR_FUNCTION,
                                .action = action,
                                .function = big_endian ? word & 0x0fffffff : word >> 4,
                                .tid = reader->tid,
                                .delta = delta,
                                .tsc = reader->tsc };
    reader->expected = expected_after(&reader->header, out);
    reader->buffer.at += FDR_FUNCTION_SIZE;
    return true;
}

enum ch_status fdr_next_record(struct fdr_reader *reader, struct fdr_record *out)
{
    if (fdr_next_function(reader, out))
        return CH_OK;
    while (reader->in_buffer || cursor_left(&reader->file) != 0) {
        enum ch_status status = CH_OK;
        if (!reader->in_buffer && reader->header.version > 1)
            return begin_later(reader, out);
        if (!reader->in_buffer)
            status = begin_version_1(reader);
        else if (cursor_left(&reader->buffer) == 0)
            status = end_buffer(reader);
        else if (reader->zero_ends && fdr_is_blank(reader->buffer))
            reader->in_buffer = false;
        else
            return read_in_buffer(reader, out);
        if (status != CH_OK)
            return status;
    }
    return CH_END;
}
