// SPDX-License-Identifier: Apache-2.0
#include "agent/core/record_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/checked.h"
#include "base/system/file.h"

enum {
    SEGMENTS_MAX = 1 << 14,
    TEXT_LIMIT_BYTES = 16 << 20,
    EVERYTHING_LIMIT_BYTES = 64 << 20,
    CHUNK_HEADER_BYTES = 16,
};
_Static_assert(sizeof(struct record_chunk) == CHUNK_HEADER_BYTES, "no padding");

// A reading is the whole file and the part still to be parsed.
struct reading {
    struct text bytes;
    struct cursor left;
    size_t capacity; // of the segments array
};

static enum ch_status read_record_header(struct cursor *left, struct record_header *out)
{
    const uint8_t *bytes = cursor_take(left, sizeof(*out));
    if (!cursor_ok(left))
        return CH_ERR_TRUNCATED;
    memcpy(out, bytes, sizeof(*out));
    if (out->magic != RECORD_MAGIC)
        return CH_ERR_MALFORMED;
    bool known = out->version == RECORD_VERSION && out->size == sizeof(*out) &&
                 out->page.version == REQUEST_VERSION &&
                 out->page.size == sizeof(out->page);
    out->thread_name[sizeof(out->thread_name) - 1] = 0;
    return known ? CH_OK : CH_ERR_UNSUPPORTED;
}

static enum ch_status add_record_segment(struct record_file *record,
                                         struct reading *reading, uint64_t address,
                                         uint64_t offset, uint64_t size)
{
    uint64_t end;
    if (record->segment_count == SEGMENTS_MAX || size == 0 ||
        !checked_add_u64(address, size, &end))
        return CH_OK;
    if (!array_reserve(&record->segments, &reading->capacity, record->segment_count,
                       sizeof(record->segments[0])))
        return CH_ERR_NO_MEMORY;
    record->segments[record->segment_count++] = (struct core_segment){
        .start = address, .end = end, .offset = offset, .size = size
    };
    return CH_OK;
}

static struct text *record_text_of(struct record_file *record, uint32_t kind)
{
    switch (kind) {
    case RECORD_VARIABLE:
        return &record->variables;
    case RECORD_EXECUTABLE:
        return &record->executable;
    case RECORD_MAPS:
        return &record->maps;
    case RECORD_AUXV:
        return &record->auxv;
    case RECORD_CONTEXT:
        return &record->context;
    default:
        return NULL;
    }
}

// read_chunk reads one chunk; a chunk that is cut counts as far as it goes. CH_END:
// none is left.
static enum ch_status read_chunk(struct record_file *record, struct reading *reading)
{
    struct cursor *left = &reading->left;
    struct record_chunk chunk;
    const uint8_t *header = cursor_take(left, sizeof(chunk));
    if (!cursor_ok(left))
        return CH_END;
    memcpy(&chunk, header, sizeof(chunk));
    size_t size = chunk.size < cursor_left(left) ? chunk.size : cursor_left(left);
    size_t offset = reading->bytes.size - cursor_left(left);
    const uint8_t *bytes = cursor_take(left, size);
    if (!cursor_ok(left))
        return CH_END;
    if (chunk.kind == RECORD_FLIGHT)
        record->flight_state = chunk.address;
    if (chunk.kind == RECORD_MEMORY || chunk.kind == RECORD_FLIGHT)
        return add_record_segment(record, reading, chunk.address, offset, size);
    struct text *text = record_text_of(record, chunk.kind);
    if (text != NULL && size <= TEXT_LIMIT_BYTES - text->size)
        text_append(text, bytes, size);
    return CH_OK;
}

static int by_region_start(const void *left, const void *right)
{
    const struct core_segment *a = left;
    const struct core_segment *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

// drop_region_overlaps keeps the first of two pieces that overlap.
static void drop_region_overlaps(struct record_file *record)
{
    size_t kept = 0;
    if (record->segment_count != 0)
        qsort(record->segments, record->segment_count, sizeof(*record->segments),
              by_region_start);
    for (size_t i = 0; i < record->segment_count; i++) {
        const struct core_segment *segment = &record->segments[i];
        if (kept == 0 || segment->start >= record->segments[kept - 1].end)
            record->segments[kept++] = *segment;
    }
    record->segment_count = kept;
}

static enum ch_status read_crash_record(struct record_file *record,
                                        struct reading *reading)
{
    reading->left = cursor_over(reading->bytes.bytes, reading->bytes.size);
    enum ch_status status = read_record_header(&reading->left, &record->header);
    while (status == CH_OK)
        status = read_chunk(record, reading);
    if (status != CH_END)
        return status;
    drop_region_overlaps(record);
    const struct text *texts[] = { &record->variables, &record->executable,
                                   &record->maps, &record->auxv, &record->context };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (!text_ok(texts[i]))
            return CH_ERR_NO_MEMORY;
    }
    return CH_OK;
}

uint64_t record_file_size(int fd)
{
    struct record_chunk chunk;
    uint64_t at = sizeof(struct record_header);
    while (at < EVERYTHING_LIMIT_BYTES &&
           file_read_at(fd, &chunk, sizeof(chunk), at) == sizeof(chunk) &&
           chunk.kind != RECORD_END)
        at += sizeof(chunk) + chunk.size;
    return at;
}

enum ch_status record_file_open(struct record_file *record, int fd)
{
    struct reading reading = { 0 };
    *record = (struct record_file){ 0 };
    if (lseek(fd, 0, SEEK_SET) < 0)
        return CH_ERR_IO;
    enum ch_status status = text_read(&reading.bytes, fd, record_file_size(fd));
    if (status == CH_OK || status == CH_ERR_LIMIT)
        status = read_crash_record(record, &reading);
    text_deinit(&reading.bytes);
    if (status != CH_OK)
        record_file_close(record);
    return status;
}

void record_file_close(struct record_file *record)
{
    text_deinit(&record->variables);
    text_deinit(&record->executable);
    text_deinit(&record->maps);
    text_deinit(&record->auxv);
    text_deinit(&record->context);
    free(record->segments);
    *record = (struct record_file){ 0 };
}

const char *record_file_variable(const struct record_file *record, const char *name)
{
    size_t length = strlen(name);
    for (size_t at = 0; at < record->variables.size;) {
        const char *variable = record->variables.bytes + at;
        size_t size = strlen(variable);
        if (size > length && variable[length] == '=' &&
            memcmp(variable, name, length) == 0)
            return variable + length + 1;
        at += size + 1;
    }
    return NULL;
}
