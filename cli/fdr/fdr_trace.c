// SPDX-License-Identifier: Apache-2.0
#include "cli/fdr/fdr_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/system/file.h"
#include "cli/session/command.h"

enum {
    BUFFER_HEAD = 5 * FDR_METADATA_SIZE, // as much as gives a buffer's thread and time
    PROFILE_BYTES_MAX = 1 << 30,
};

// fdr_trace_complain notes a problem that the caller found.
static void fdr_trace_complain(struct fdr_trace *trace,
                               const struct fdr_problem *problem)
{
    if (problem->harmless)
        return;
    if (trace->worst.status == CH_OK)
        trace->worst = *problem;
    trace->problem_count++;
}

static void trace_complain_at(struct fdr_trace *trace, uint64_t offset,
                              enum ch_status status, const char *what)
{
    const struct fdr_problem problem = { .offset = offset,
                                         .status = status,
                                         .what = what };
    fdr_trace_complain(trace, &problem);
}

// trace_add_buffer adds a buffer. Its head is read here, and its problems are found
// when all of it is read.
static enum ch_status trace_add_buffer(struct fdr_trace *trace, uint64_t offset,
                                       uint64_t size)
{
    uint8_t head[BUFFER_HEAD];
    struct fdr_trace_buffer buffer = { .offset = offset, .size = size };
    struct fdr_record record = { .kind = FDR_NEW_BUFFER };
    struct fdr_reader reader;
    buffer.is_cut = size > trace->size - offset;
    if (buffer.is_cut)
        buffer.size = trace->size - offset;
    struct fdr_part part = { .bytes = head };
    part.size = file_read_at(
        trace->fd, head,
        buffer.size < BUFFER_HEAD ? (size_t)buffer.size : (size_t)BUFFER_HEAD, offset);
    fdr_reader_begin_part(&reader, &trace->header, &part);
    while (fdr_next_record(&reader, &record) == CH_OK && record.kind != FDR_NEW_CPU)
        ;
    buffer.tid = reader.tid;
    buffer.tsc = reader.tsc;
    if (trace->buffer_count == FDR_TRACE_BUFFERS_MAX)
        return CH_ERR_LIMIT;
    if (!array_reserve(&trace->buffers, &trace->buffer_capacity, trace->buffer_count,
                       sizeof(*trace->buffers)))
        return CH_ERR_NO_MEMORY;
    trace->buffers[trace->buffer_count++] = buffer;
    if (buffer.tsc != 0 && (trace->first_tsc == 0 || buffer.tsc < trace->first_tsc))
        trace->first_tsc = buffer.tsc;
    return CH_OK;
}

static int trace_order_buffers(const void *left, const void *right)
{
    const struct fdr_trace_buffer *a = left;
    const struct fdr_trace_buffer *b = right;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    if (a->tsc != b->tsc)
        return a->tsc < b->tsc ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

// trace_index_later finds the buffers of version 2 and later, each after its extents.
static enum ch_status trace_index_later(struct fdr_trace *trace)
{
    uint64_t at = FDR_HEADER_SIZE;
    enum ch_status status = CH_OK;
    while (status == CH_OK && at < trace->size) {
        uint8_t extents[FDR_EXTENTS_SIZE];
        uint64_t size = 0;
        size_t got = file_read_at(trace->fd, extents, sizeof(extents), at);
        status = fdr_read_extents(&trace->header, extents, got, &size);
        if (status != CH_OK) {
            trace_complain_at(trace, at, status,
                              "there is no buffer where one should start");
            return CH_OK;
        }
        at += FDR_EXTENTS_SIZE;
        if (size != 0)
            status = trace_add_buffer(trace, at, size);
        at = size > trace->size - at ? trace->size : at + size;
    }
    return status;
}

// trace_index_first finds the buffers of version 1, which all have the same size.
static enum ch_status trace_index_first(struct fdr_trace *trace)
{
    uint64_t size = trace->header.buffer_size;
    enum ch_status status = CH_OK;
    if (size < (uint64_t)3 * FDR_METADATA_SIZE) {
        trace_complain_at(trace, FDR_EXTENTS_SIZE, CH_ERR_MALFORMED,
                          "the buffer size cannot hold a buffer");
        size = trace->size;
    }
    for (uint64_t at = FDR_HEADER_SIZE; status == CH_OK && at < trace->size;) {
        status = trace_add_buffer(trace, at, size);
        at = size > trace->size - at ? trace->size : at + size;
    }
    return status;
}

static enum ch_status trace_index(struct fdr_trace *trace)
{
    enum ch_status status = trace->header.version == 1 ? trace_index_first(trace)
                                                       : trace_index_later(trace);
    if (status == CH_ERR_LIMIT) {
        trace_complain_at(trace, 0, status, "it has more buffers than are read");
        status = CH_OK;
    }
    if (status == CH_OK && trace->buffer_count != 0)
        qsort(trace->buffers, trace->buffer_count, sizeof(*trace->buffers),
              trace_order_buffers);
    return status;
}

// trace_read_header finds out which kind of file it is.
static enum ch_status trace_read_header(struct fdr_trace *trace)
{
    struct xray_profile profile;
    struct fdr_reader reader;
    uint8_t bytes[FDR_HEADER_SIZE];
    size_t got = file_read_at(trace->fd, bytes, sizeof(bytes), 0);
    if (xray_profile_init(&profile, bytes, got) == CH_OK) {
        trace->mode = FDR_TRACE_PROFILE;
        return CH_OK;
    }
    enum ch_status status = fdr_reader_init(&reader, bytes, got);
    trace->header = reader.header;
    if (status == CH_OK)
        return trace_index(trace);
    if (status == CH_ERR_UNSUPPORTED && reader.header.type == XRAY_BASIC_TYPE &&
        reader.header.version != 0 && reader.header.version <= XRAY_BASIC_VERSION_MAX) {
        trace->mode = FDR_TRACE_BASIC;
        return CH_OK;
    }
    return status;
}

// trace_copy_stdin gives a temporary file with what standard input has. -1: errno has
// the reason.
static int trace_copy_stdin(void)
{
    char block[65536];
    ssize_t got = -1;
    const char *place = getenv("TMPDIR");
    int fd = open(place != NULL ? place : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    while (fd >= 0 && (got = file_read_all(STDIN_FILENO, block, sizeof(block))) > 0 &&
           file_write_all(fd, block, (size_t)got))
        continue;
    if (got != 0)
        file_close(&fd);
    return fd;
}

enum ch_status fdr_trace_open(struct fdr_trace *trace, const char *path)
{
    struct stat about;
    *trace = (struct fdr_trace){ .path = path };
    bool is_stdin = strcmp(path, "-") == 0;
    trace->fd = is_stdin ? trace_copy_stdin() : open(path, O_RDONLY | O_CLOEXEC);
    if (trace->fd < 0 || fstat(trace->fd, &about) != 0) {
        command_fail("cannot read '%s': %s", path, strerror(errno));
        return CH_ERR_IO;
    }
    if (!S_ISREG(about.st_mode)) {
        command_fail("cannot read '%s': not a regular file", path);
        return CH_ERR_IO;
    }
    trace->size = (uint64_t)about.st_size;
    trace->window = malloc(FDR_TRACE_WINDOW);
    enum ch_status status =
        trace->window != NULL ? trace_read_header(trace) : CH_ERR_NO_MEMORY;
    if (status == CH_ERR_UNSUPPORTED)
        command_fail("'%s' is no XRay trace of a known version (version %u, type %u)",
                     path, trace->header.version, trace->header.type);
    else if (status != CH_OK)
        command_fail("cannot read '%s': %s", path, ch_status_name(status));
    return status;
}

void fdr_trace_close(struct fdr_trace *trace)
{
    if (trace->fd >= 0)
        (void)close(trace->fd);
    free(trace->buffers);
    free(trace->window);
}

// trace_load_window replaces what reader has left of the buffer by that and the bytes
// after it.
static void trace_load_window(struct fdr_trace *trace,
                              const struct fdr_trace_buffer *buffer, uint64_t at,
                              struct fdr_part *out)
{
    uint64_t left = buffer->offset + buffer->size - at;
    size_t size = left < FDR_TRACE_WINDOW ? (size_t)left : (size_t)FDR_TRACE_WINDOW;
    *out = (struct fdr_part){ .bytes = trace->window, .offset = at };
    out->size = file_read_at(trace->fd, trace->window, size, at);
    out->is_cut = buffer->is_cut || out->size < size;
}

static enum ch_status trace_read_buffer(struct fdr_trace *trace,
                                        const struct fdr_trace_buffer *buffer,
                                        fdr_trace_use *use, void *context)
{
    const uint64_t end = buffer->offset + buffer->size;
    struct fdr_reader reader;
    struct fdr_record record;
    struct fdr_part part;
    enum ch_status status;
    trace_load_window(trace, buffer, buffer->offset, &part);
    fdr_reader_begin_part(&reader, &trace->header, &part);
    while (true) {
        size_t left = fdr_reader_left(&reader);
        uint64_t loaded = part.offset + part.size;
        if (left != 0 && left < FDR_TRACE_RECORD_MAX && loaded < end && !part.is_cut) {
            trace_load_window(trace, buffer, loaded - left, &part);
            fdr_reader_next_part(&reader, &part);
        }
        status = fdr_next_record(&reader, &record);
        if (status == CH_END)
            return CH_OK;
        if (status != CH_OK) {
            fdr_trace_complain(trace, &reader.problem);
            continue;
        }
        status = use(context, &record);
        if (status != CH_OK)
            return status;
    }
}

// trace_read_basic reads a basic log in windows, which hold whole records.
static enum ch_status trace_read_basic(struct fdr_trace *trace, fdr_trace_use *use,
                                       void *context)
{
    enum ch_status status = CH_OK;
    for (uint64_t at = FDR_HEADER_SIZE; at < trace->size; at += FDR_TRACE_WINDOW) {
        struct fdr_record record = { 0 };
        size_t got = file_read_at(trace->fd, trace->window, FDR_TRACE_WINDOW, at);
        struct cursor log = cursor_over(trace->window, got);
        log.big_endian = trace->header.big_endian;
        while ((status = xray_basic_next(&log, trace->header.version, &record)) !=
                   CH_END &&
               status != CH_ERR_TRUNCATED) {
            record.offset += at;
            if (status == CH_ERR_UNSUPPORTED)
                trace_complain_at(trace,
                                  at + cursor_offset(&log) - XRAY_BASIC_RECORD_SIZE,
                                  status, "a record of a kind there is not");
            else if ((status = use(context, &record)) != CH_OK)
                return status;
        }
        if (status == CH_ERR_TRUNCATED)
            trace_complain_at(trace, trace->size, status,
                              "the input ends inside a record");
    }
    return CH_OK;
}

enum ch_status fdr_trace_read(struct fdr_trace *trace, fdr_trace_use *use,
                              void *context)
{
    enum ch_status status = CH_OK;
    if (trace->mode == FDR_TRACE_BASIC)
        return trace_read_basic(trace, use, context);
    for (size_t i = 0; status == CH_OK && i < trace->buffer_count; i++)
        status = trace_read_buffer(trace, &trace->buffers[i], use, context);
    return status;
}

enum ch_status fdr_trace_profile(struct fdr_trace *trace, struct text *data,
                                 struct xray_profile *out)
{
    if (lseek(trace->fd, 0, SEEK_SET) != 0)
        return CH_ERR_IO;
    enum ch_status status = text_read(data, trace->fd, PROFILE_BYTES_MAX);
    return status == CH_OK ? xray_profile_init(out, data->bytes, data->size) : status;
}

int fdr_trace_result(const struct fdr_trace *trace, enum ch_status status)
{
    if (status != CH_OK)
        return command_fail("cannot read '%s': %s", trace->path,
                            ch_status_name(status));
    if (trace->worst.status == CH_OK)
        return COMMAND_DONE;
    return command_fail("'%s' is %s at offset %zu: %s", trace->path,
                        ch_status_name(trace->worst.status), trace->worst.offset,
                        trace->worst.what);
}
