// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/cbf.h"

#include <endian.h>
#include <string.h>

// The first byte is version << 2 | size code; a word has 16 << code bits.
enum { CBF_VERSION = 0, SIZE_CODES = 3 };

// Opcodes (docs/formats/cbf.md). An address is kkkk asss: kind, absolute, size less
// one. A small count is in the opcode itself; others follow in size-less-one bytes.
enum {
    OP_END = 0x00,
    OP_TRUNC = 0x01,
    OP_PC = 0x10,
    OP_ASYNC = 0x30,
    OP_OMIT = 0x40,
    OP_REP = 0x80,
    ABSOLUTE = 0x08,
    OMIT_BYTES = 0x20,
    REP_BYTES = 0x08,
};

const char *cbf_op_name(enum cbf_op op)
{
    static const char *const names[] = {
        [CBF_END] = "end",     [CBF_TRUNC] = "trunc", [CBF_PC] = "pc",
        [CBF_ASYNC] = "async", [CBF_OMIT] = "omit",   [CBF_RETURN_ADDRESS] = "ra",
        [CBF_REP] = "rep",
    };
    return names[op];
}

enum ch_status cbf_reader_init(struct cbf_reader *reader, const void *bytes,
                               size_t size)
{
    *reader = (struct cbf_reader){ .input = cursor_over(bytes, size) };
    reader->input.big_endian = true;
    uint8_t info = cursor_u8(&reader->input);
    if (!cursor_ok(&reader->input))
        return CH_ERR_TRUNCATED;

    reader->version = info >> 2;
    if (reader->version != CBF_VERSION || (info & 3) >= SIZE_CODES)
        return CH_ERR_UNSUPPORTED;
    reader->word_bits = 16u << (info & 3);
    reader->address_mask = UINT64_MAX >> (64 - reader->word_bits);
    reader->offset = cursor_offset(&reader->input);
    return CH_OK;
}

// cbf_read_count reads a number of size bytes and keeps its low 64 bits, as Swift does:
// omit allows 32 bytes, although a count fits 8.
static uint64_t cbf_read_count(struct cursor *input, size_t size)
{
    if (size > 8) {
        cursor_skip(input, size - 8);
        size = 8;
    }
    return cursor_uint(input, size);
}

static inline __attribute__((always_inline)) enum ch_status
read_operand(struct cbf_reader *reader, uint8_t op, struct cbf_instruction *out)
{
    struct cursor *input = &reader->input;
    if (op >= OP_PC && op < OP_OMIT) {
        out->op = CBF_PC + (op >> 4) - 1;
        out->absolute = op & ABSOLUTE;
        out->value = (uint64_t)cursor_sint(input, (op & 7) + 1u);
        if (!cursor_ok(input))
            return CH_ERR_TRUNCATED;
        out->value &= reader->address_mask;
        // The specification wants the first address absolute; Swift 6.2 writes it as
        // the difference from zero, which is where reader->address begins.
        out->address = out->value + (out->absolute ? 0 : reader->address);
        out->address &= reader->address_mask;
        reader->address = out->address;
    } else if (op >= OP_OMIT && op < OP_REP) {
        out->op = CBF_OMIT;
        out->value = (op & 0x1f) + 1u;
        if (op & OMIT_BYTES)
            out->value = cbf_read_count(input, (op & 0x1f) + 1u);
    } else if (op >= OP_REP && op < OP_REP + 0x10) {
        out->op = CBF_REP;
        out->value = (op & 7) + 1u;
        if (op & REP_BYTES)
            out->value = cbf_read_count(input, (op & 7) + 1u);
    } else if (op <= OP_TRUNC) {
        out->op = op == OP_END ? CBF_END : CBF_TRUNC;
        reader->complete = true;
    } else {
        return CH_ERR_UNSUPPORTED;
    }
    return cursor_ok(input) ? CH_OK : CH_ERR_TRUNCATED;
}

// read_instruction is inlined into both readers below, so that each computes only the
// members it needs.
static inline __attribute__((always_inline)) enum ch_status
read_instruction(struct cbf_reader *reader, struct cbf_instruction *out)
{
    struct cursor *input = &reader->input;
    if (cursor_left(input) == 0 || reader->complete)
        return cursor_ok(input) ? CH_END : CH_ERR_TRUNCATED;

    *out = (struct cbf_instruction){ .offset = reader->offset };
    enum ch_status status = read_operand(reader, cursor_u8(input), out);
    if (status != CH_OK) {
        cursor_poison(input);
        return status;
    }
    reader->offset = cursor_offset(input);
    out->size = reader->offset - out->offset;
    return CH_OK;
}

enum ch_status cbf_next_instruction(struct cbf_reader *reader,
                                    struct cbf_instruction *out)
{
    struct cbf_instruction read;
    enum ch_status status = read_instruction(reader, &read);
    if (status == CH_OK)
        *out = read;
    return status;
}

enum ch_status cbf_next_frame(struct cbf_reader *reader, struct cbf_frame *out)
{
    struct cbf_instruction read;
    enum ch_status status = read_instruction(reader, &read);
    if (status != CH_OK)
        return status;

    struct cbf_frame frame = { read.op, read.value, 1 };
    switch (read.op) {
    case CBF_END:
        return CH_END;
    case CBF_REP:
        frame = reader->last;
        if (frame.times == 0) {
            reader->offset = read.offset;
            cursor_poison(&reader->input);
            return CH_ERR_MALFORMED;
        }
        // The specification does not define a count of 0; Swift repeats once.
        frame.times = read.value != 0 ? read.value : 1;
        break;
    case CBF_TRUNC:
    case CBF_OMIT:
        break;
    default:
        frame.value = read.address;
    }
    reader->last = frame;
    *out = frame;
    return CH_OK;
}

enum ch_status cbf_writer_init(struct cbf_writer *writer, unsigned word_bits,
                               enum cbf_dialect dialect, void *buffer, size_t capacity)
{
    if (word_bits != 16 && word_bits != 32 && word_bits != 64)
        return CH_ERR_UNSUPPORTED;
    if (capacity < CBF_OVERHEAD)
        return CH_ERR_LIMIT;

    *writer = (struct cbf_writer){ .bytes = buffer,
                                   .capacity = capacity,
                                   .dialect = dialect,
                                   .word_bits = word_bits };
    writer->bytes[writer->size++] = (uint8_t)(CBF_VERSION << 2 | word_bits >> 5);
    return CH_OK;
}

// put_operation appends op and the size low bytes of operand, big-endian. Where 8 bytes
// of the buffer are free after op, one store writes them all: those after the operand
// are overwritten by what follows.
static void put_operation(struct cbf_writer *writer, unsigned op, uint64_t operand,
                          unsigned size)
{
    uint8_t *to = writer->bytes + writer->size;
    size_t room = writer->capacity - writer->size;
    writer->size += 1 + size;
    *to++ = (uint8_t)op;
    if (room > sizeof(operand) && size != 0) {
        operand = htobe64(operand << (64 - 8 * size));
        memcpy(to, &operand, sizeof(operand));
        return;
    }
    for (unsigned shift = size * 8; shift > 0; shift -= 8)
        *to++ = (uint8_t)(operand >> (shift - 8));
}

static unsigned cbf_signed_size(uint64_t value)
{
    return (64 - (unsigned)__builtin_clrsbll((long long)value) + 7) / 8;
}

static unsigned unsigned_size(uint64_t value)
{
    return value == 0 ? 1 : (64 - (unsigned)__builtin_clzll(value) + 7) / 8;
}

// cbf_fits returns true if size bytes can be added while leaving room for the ending.
static bool cbf_fits(const struct cbf_writer *writer, size_t size)
{
    return writer->capacity - writer->size > size;
}

static unsigned rep_size(uint64_t count)
{
    return count <= 8 ? 1 : 1 + unsigned_size(count);
}

// flush_repeats writes the run that was counted; counting made sure that it fits.
static void flush_repeats(struct cbf_writer *writer)
{
    uint64_t count = writer->repeats;
    writer->repeats = 0;
    if (count == 0)
        return;
    if (count <= 8) {
        writer->bytes[writer->size++] = (uint8_t)(OP_REP | (count - 1));
        return;
    }
    unsigned size = unsigned_size(count);
    put_operation(writer, OP_REP | REP_BYTES | (size - 1), count, size);
}

static uint64_t cbf_sign_extend(uint64_t value, unsigned bits)
{
    unsigned unused = 64 - bits;
    return (uint64_t)((int64_t)(value << unused) >> unused);
}

// cbf_write_address chooses the shorter of the two forms, the relative one when they
// are equally long, as Swift does.
static enum ch_status cbf_write_address(struct cbf_writer *writer, enum cbf_op kind,
                                        uint64_t address)
{
    uint64_t value = cbf_sign_extend(address, writer->word_bits);
    uint64_t delta = cbf_sign_extend(value - writer->address, writer->word_bits);
    bool first = !writer->any_address && writer->dialect == CBF_SPECIFIED;
    bool absolute = first || cbf_signed_size(value) < cbf_signed_size(delta);
    uint64_t operand = absolute ? value : delta;
    unsigned size = cbf_signed_size(operand);
    if (!cbf_fits(writer, rep_size(writer->repeats) + 1 + size))
        return CH_ERR_LIMIT;

    flush_repeats(writer);
    unsigned op = (kind - CBF_PC + 1u) << 4 | (absolute ? ABSOLUTE : 0) | (size - 1);
    put_operation(writer, op, operand, size);
    writer->address = value;
    writer->any_address = true;
    return CH_OK;
}

// write_omit has counts up to 32 in the opcode. Swift writes 32 in the long form.
static enum ch_status write_omit(struct cbf_writer *writer, uint64_t count)
{
    bool in_opcode = count - 1 < (writer->dialect == CBF_SWIFT_6_2 ? 31 : 32);
    unsigned size = in_opcode ? 0 : unsigned_size(count);
    if (!cbf_fits(writer, rep_size(writer->repeats) + 1 + size))
        return CH_ERR_LIMIT;

    flush_repeats(writer);
    unsigned op = in_opcode ? (unsigned)count - 1 : OMIT_BYTES | (size - 1);
    put_operation(writer, OP_OMIT | op, count, size);
    return CH_OK;
}

static enum ch_status write_other_frame(struct cbf_writer *writer, enum cbf_op kind,
                                        uint64_t value)
{
    switch (kind) {
    case CBF_PC:
    case CBF_RETURN_ADDRESS:
    case CBF_ASYNC:
        return cbf_write_address(writer, kind, value);
    case CBF_OMIT:
        return write_omit(writer, value);
    default:
        flush_repeats(writer);
        writer->bytes[writer->size++] = OP_TRUNC;
        writer->ended = true;
        return CH_OK;
    }
}

enum ch_status cbf_write_frame(struct cbf_writer *writer, enum cbf_op kind,
                               uint64_t value)
{
    if (kind < CBF_TRUNC || kind > CBF_OMIT)
        return CH_ERR_UNSUPPORTED;
    if (writer->ended)
        return CH_OK;
    if (kind != CBF_OMIT)
        value = cbf_sign_extend(value, writer->word_bits);
    if (kind == writer->last_kind && value == writer->last_value) {
        if (!cbf_fits(writer, rep_size(writer->repeats + 1)))
            return CH_ERR_LIMIT;
        writer->repeats++;
        return CH_OK;
    }

    enum ch_status status = write_other_frame(writer, kind, value);
    if (status != CH_OK)
        return status;
    writer->last_kind = kind;
    writer->last_value = value;
    return CH_OK;
}

// write_usual_calls adds return addresses to a backtrace of 64 bits whose last frame is
// one, up to a repetition or the buffer's end. It gives their number.
static size_t write_usual_calls(struct cbf_writer *writer, const uint64_t *addresses,
                                size_t count)
{
    enum { ROOM = CBF_FRAME_MAX + CBF_OVERHEAD };
    uint8_t *to = writer->bytes + writer->size;
    const uint8_t *end = writer->bytes + writer->capacity;
    uint64_t last = writer->last_value;
    size_t done = 0;
    for (; done < count && end - to > ROOM && addresses[done] != last; done++) {
        uint64_t value = addresses[done];
        uint64_t delta = value - last;
        unsigned size = cbf_signed_size(delta);
        unsigned op = CBF_RETURN_ADDRESS - CBF_PC + 1u;
        // Nearly all addresses take 6 bytes, and nearly all distances fewer.
        bool absolute = (size > 5 || value >> 39 == 0) && cbf_signed_size(value) < size;
        size = absolute ? cbf_signed_size(value) : size;
        *to = (uint8_t)(op << 4 | (absolute ? ABSOLUTE : 0) | (size - 1));
        uint64_t operand = htobe64((absolute ? value : delta) << (64 - 8 * size));
        memcpy(to + 1, &operand, sizeof(operand));
        to += 1 + size;
        last = value;
    }
    writer->size = (size_t)(to - writer->bytes);
    writer->address = writer->last_value = last;
    return done;
}

enum ch_status cbf_write_calls(struct cbf_writer *writer, const uint64_t *addresses,
                               size_t count)
{
    enum ch_status status = CH_OK;
    for (size_t i = 0; i < count && status == CH_OK;) {
        bool usual = writer->word_bits == 64 && !writer->ended &&
                     writer->last_kind == CBF_RETURN_ADDRESS;
        size_t done = 0;
        while (usual && i + done < count && addresses[i + done] == writer->last_value)
            done++;
        if (done != 0 && cbf_fits(writer, rep_size(writer->repeats + done)))
            writer->repeats += done;
        else
            done = 0;
        if (done == 0 && usual && writer->repeats == 0)
            done = write_usual_calls(writer, addresses + i, count - i);
        i += done;
        if (done == 0)
            status = cbf_write_frame(writer, CBF_RETURN_ADDRESS, addresses[i++]);
    }
    return status;
}

void cbf_write_end(struct cbf_writer *writer)
{
    if (writer->ended)
        return;
    cbf_write_stop(writer);
    if (writer->dialect == CBF_SPECIFIED)
        writer->bytes[writer->size++] = OP_END;
}

void cbf_write_stop(struct cbf_writer *writer)
{
    if (!writer->ended)
        flush_repeats(writer);
    writer->ended = true;
}
