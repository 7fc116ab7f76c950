// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/fdr.h"

enum {
    TYPE_FLIGHT_RECORDER = 1,
    CONSTANT_TSC = 1,
    NONSTOP_TSC = 2,
    BUFFER_SIZE_OFFSET = 16,
    // Version 1: the records at both ends of a buffer, and one of a function.
    BUFFER_SIZE_MIN = 4 * FDR_METADATA_SIZE + FDR_FUNCTION_SIZE,
    FUNCTION_ID_MAX = 0x0fffffff,
};

static void fdr_put(uint8_t *to, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

// metadata is a metadata record under construction; members that are not set are zero.
struct metadata {
    uint8_t bytes[FDR_METADATA_SIZE];
};

static struct metadata metadata_start(enum fdr_kind kind, uint64_t value, size_t size)
{
    struct metadata record = { { (uint8_t)(kind << 1 | 1) } };
    fdr_put(record.bytes + 1, value, size);
    return record;
}

static void fdr_append(struct fdr_writer *writer, const struct metadata *record)
{
    text_append(writer->to, record->bytes, sizeof(record->bytes));
}

enum ch_status fdr_writer_init(struct fdr_writer *writer,
                               const struct fdr_header *header, struct text *to)
{
    uint8_t bytes[FDR_HEADER_SIZE] = { 0 };
    uint32_t bits = (header->constant_tsc ? CONSTANT_TSC : 0) |
                    (header->nonstop_tsc ? NONSTOP_TSC : 0);
    if (header->version != 1 && header->version != 3 && header->version != 5)
        return CH_ERR_UNSUPPORTED;
    // llvm-xray reads what follows an end-of-buffer record too: it accepts zeros, in
    // multiples of 8 bytes.
    if (header->version == 1 &&
        (header->buffer_size < BUFFER_SIZE_MIN || header->buffer_size % 8 != 0))
        return CH_ERR_MALFORMED;
    fdr_put(bytes, header->version, 2);
    fdr_put(bytes + 2, TYPE_FLIGHT_RECORDER, 2);
    fdr_put(bytes + 4, bits, 4);
    fdr_put(bytes + 8, header->cycles_per_second, 8);
    fdr_put(bytes + BUFFER_SIZE_OFFSET, header->buffer_size, 8);
    *writer = (struct fdr_writer){ .to = to, .header = *header };
    text_append(to, bytes, sizeof(bytes));
    return CH_OK;
}

void fdr_writer_begin(struct fdr_writer *writer, const struct fdr_buffer_start *start)
{
    bool later = writer->header.version > 1;
    struct metadata extents = metadata_start(FDR_BUFFER_EXTENTS, 0, 0);
    struct metadata thread = metadata_start(FDR_NEW_BUFFER, (uint32_t)start->tid, 4);
    struct metadata clock = metadata_start(FDR_WALL_CLOCK, start->seconds, 8);
    struct metadata process = metadata_start(FDR_PID, (uint32_t)start->pid, 4);
    struct metadata cpu = metadata_start(FDR_NEW_CPU, start->cpu, 2);
    fdr_put(clock.bytes + 9, start->microseconds, 4);
    fdr_put(cpu.bytes + 3, start->tsc, 8);
    if (later)
        fdr_append(writer, &extents);
    writer->buffer = writer->to->size;
    writer->tsc = start->tsc;
    fdr_append(writer, &thread);
    fdr_append(writer, &clock);
    if (later)
        fdr_append(writer, &process);
    fdr_append(writer, &cpu);
}

// has_room returns true if size bytes fit the buffer together with the records that end
// it.
static bool has_room(const struct fdr_writer *writer, uint64_t size)
{
    uint64_t limit = writer->header.buffer_size;
    uint64_t used = writer->to->size - writer->buffer;
    uint64_t end = writer->header.version == 1 ? FDR_METADATA_SIZE : 0;
    if (limit == 0)
        return true;
    return used + end <= limit && size <= limit - used - end;
}

static enum ch_status fdr_write_event(struct fdr_writer *writer,
                                      const struct fdr_record *record)
{
    static const uint8_t zeros[FDR_FUNCTION_SIZE] = { 0 };
    bool typed = record->kind == FDR_TYPED_EVENT;
    bool relative = writer->header.version == FDR_VERSION_MAX;
    uint64_t padding = writer->header.version == 1 ? -record->size % sizeof(zeros) : 0;
    uint64_t size = record->size + padding;
    if (typed && !relative)
        return CH_ERR_UNSUPPORTED;
    if (size > INT32_MAX || !has_room(writer, FDR_METADATA_SIZE + size))
        return CH_ERR_LIMIT;

    struct metadata marker = metadata_start(record->kind, size, 4);
    fdr_put(marker.bytes + 5, relative ? (uint64_t)record->delta : record->tsc,
            relative ? 4 : 8);
    if (typed)
        fdr_put(marker.bytes + 9, record->type, 2);
    if (relative)
        writer->tsc += (uint64_t)record->delta;
    fdr_append(writer, &marker);
    text_append(writer->to, record->data, (size_t)record->size);
    text_append(writer->to, zeros, (size_t)padding);
    return CH_OK;
}

static enum ch_status fdr_write_call(struct fdr_writer *writer,
                                     const struct fdr_record *record)
{
    uint8_t bytes[FDR_FUNCTION_SIZE];
    uint64_t room = FDR_FUNCTION_SIZE;
    if (record->delta < 0 || record->delta > UINT32_MAX ||
        record->function > FUNCTION_ID_MAX || record->action >= FDR_ACTIONS)
        return CH_ERR_UNSUPPORTED;
    if (record->action == FDR_ENTER_ARGS) // its argument must follow it
        room += FDR_METADATA_SIZE;
    if (!has_room(writer, room))
        return CH_ERR_LIMIT;
    fdr_put(bytes, (uint64_t)record->function << 4 | (uint64_t)record->action << 1, 4);
    fdr_put(bytes + 4, (uint64_t)record->delta, 4);
    writer->tsc += (uint64_t)record->delta;
    text_append(writer->to, bytes, sizeof(bytes));
    return CH_OK;
}

enum ch_status fdr_write_record(struct fdr_writer *writer,
                                const struct fdr_record *record)
{
    struct metadata metadata;
    switch (record->kind) {
    case FDR_FUNCTION:
        return fdr_write_call(writer, record);
    case FDR_CUSTOM_EVENT:
    case FDR_TYPED_EVENT:
        return fdr_write_event(writer, record);
    case FDR_CALL_ARGUMENT:
        metadata = metadata_start(record->kind, record->argument, 8);
        break;
    case FDR_TSC_WRAP:
        metadata = metadata_start(record->kind, record->tsc, 8);
        break;
    case FDR_NEW_CPU:
        metadata = metadata_start(record->kind, record->cpu, 2);
        fdr_put(metadata.bytes + 3, record->tsc, 8);
        break;
    default:
        return CH_ERR_UNSUPPORTED;
    }
    if (!has_room(writer, FDR_METADATA_SIZE))
        return CH_ERR_LIMIT;
    if (record->kind != FDR_CALL_ARGUMENT)
        writer->tsc = record->tsc;
    fdr_append(writer, &metadata);
    return CH_OK;
}

enum ch_status fdr_write_function(struct fdr_writer *writer, enum fdr_action action,
                                  uint32_t function, uint64_t tsc)
{
    struct fdr_record record = { .kind = FDR_FUNCTION,
                                 .action = action,
                                 .function = function };
    const struct fdr_record wrap = { .kind = FDR_TSC_WRAP, .tsc = tsc };
    uint64_t argument = action == FDR_ENTER_ARGS ? FDR_METADATA_SIZE : 0;
    // XRay's own runtime writes a new base from INT32_MAX on, although the field has 32
    // bits.
    if (tsc >= writer->tsc && tsc - writer->tsc <= INT32_MAX) {
        record.delta = (int64_t)(tsc - writer->tsc);
        return fdr_write_record(writer, &record);
    }
    if (!has_room(writer, FDR_METADATA_SIZE + FDR_FUNCTION_SIZE + argument))
        return CH_ERR_LIMIT;
    enum ch_status status = fdr_write_record(writer, &wrap);
    return status == CH_OK ? fdr_write_record(writer, &record) : status;
}

void fdr_writer_end(struct fdr_writer *writer)
{
    uint64_t used = writer->to->size - writer->buffer;
    struct metadata end = metadata_start(FDR_END_OF_BUFFER, 0, 0);
    struct metadata nothing = { { 0 } };
    if (!text_ok(writer->to))
        return;
    if (writer->header.version > 1) {
        fdr_put((uint8_t *)writer->to->bytes + writer->buffer - FDR_METADATA_SIZE + 1,
                used, 8);
        return;
    }
    fdr_append(writer, &end);
    for (used += sizeof(end); used < writer->header.buffer_size;) {
        uint64_t left = writer->header.buffer_size - used;
        size_t size = left < sizeof(nothing) ? (size_t)left : sizeof(nothing);
        text_append(writer->to, nothing.bytes, size);
        used += size;
    }
}
