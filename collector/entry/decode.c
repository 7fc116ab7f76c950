// SPDX-License-Identifier: Apache-2.0
#include "collector/entry/decode.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>

// GZIP_WINDOW is zlib's largest window, plus 16 for a gzip header (see inflateInit2).
// ZSTD_WINDOW_LOG_MAX bounds the decoder's window, and with it its memory, to 32 MB.
enum { CHUNK_BYTES = 64 * 1024, GZIP_WINDOW = 15 + 16, ZSTD_WINDOW_LOG_MAX = 25 };

enum ch_status decode_encoding_named(const char *name, enum decode_encoding *out)
{
    if (name == NULL || strcasecmp(name, "identity") == 0)
        *out = DECODE_IDENTITY;
    else if (strcasecmp(name, "gzip") == 0 || strcasecmp(name, "x-gzip") == 0)
        *out = DECODE_GZIP;
    else if (strcasecmp(name, "zstd") == 0)
        *out = DECODE_ZSTD;
    else
        return CH_ERR_UNSUPPORTED;
    return CH_OK;
}

// keep_decoded appends a decoded chunk, unless the output would exceed the limit.
static enum ch_status keep_decoded(struct text *out, const void *chunk, size_t size,
                                   size_t limit_bytes)
{
    if (size > limit_bytes || out->size > limit_bytes - size)
        return CH_ERR_LIMIT;
    text_append(out, chunk, size);
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}

static enum ch_status inflate_all(z_stream *stream, size_t limit_bytes,
                                  struct text *out)
{
    unsigned char chunk[CHUNK_BYTES];
    for (;;) {
        stream->next_out = chunk;
        stream->avail_out = sizeof(chunk);
        int result = inflate(stream, Z_NO_FLUSH);
        enum ch_status status =
            keep_decoded(out, chunk, sizeof(chunk) - stream->avail_out, limit_bytes);
        if (status != CH_OK)
            return status;
        if (result == Z_STREAM_END && stream->avail_in == 0)
            return CH_OK;
        if (result == Z_STREAM_END) // RFC 1952, section 2.2: members follow one another
            result = inflateReset(stream);
        if (result == Z_MEM_ERROR)
            return CH_ERR_NO_MEMORY;
        if (result == Z_BUF_ERROR)
            return CH_ERR_TRUNCATED;
        if (result != Z_OK)
            return CH_ERR_MALFORMED;
    }
}

static enum ch_status decode_gzip(const void *bytes, size_t size, size_t limit_bytes,
                                  struct text *out)
{
    if (size > UINT_MAX)
        return CH_ERR_LIMIT;
    z_stream stream = { .next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)size };
    if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
        return CH_ERR_NO_MEMORY;
    enum ch_status status = inflate_all(&stream, limit_bytes, out);
    inflateEnd(&stream);
    return status;
}

static enum ch_status decompress_all(ZSTD_DStream *stream, ZSTD_inBuffer *input,
                                     size_t limit_bytes, struct text *out)
{
    char chunk[CHUNK_BYTES];
    for (;;) {
        ZSTD_outBuffer output = { .dst = chunk, .size = sizeof(chunk) };
        size_t before = input->pos;
        size_t hint = ZSTD_decompressStream(stream, &output, input);
        if (ZSTD_isError(hint))
            return CH_ERR_MALFORMED;
        enum ch_status status = keep_decoded(out, chunk, output.pos, limit_bytes);
        if (status != CH_OK)
            return status;
        if (hint == 0 && input->pos == input->size)
            return CH_OK;
        // Without progress zstd waits for input that does not exist.
        if (output.pos == 0 && input->pos == before)
            return CH_ERR_TRUNCATED;
    }
}

static enum ch_status decode_zstd(const void *bytes, size_t size, size_t limit_bytes,
                                  struct text *out)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    if (stream == NULL)
        return CH_ERR_NO_MEMORY;
    ZSTD_inBuffer input = { .src = bytes, .size = size };
    size_t set =
        ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX);
    enum ch_status status = ZSTD_isError(set)
                                ? CH_ERR_UNSUPPORTED
                                : decompress_all(stream, &input, limit_bytes, out);
    ZSTD_freeDStream(stream);
    return status;
}

enum ch_status decode_body(enum decode_encoding encoding, const void *bytes,
                           size_t size, size_t limit_bytes, struct text *out)
{
    switch (encoding) {
    case DECODE_IDENTITY:
        return keep_decoded(out, bytes, size, limit_bytes);
    case DECODE_GZIP:
        return decode_gzip(bytes, size, limit_bytes, out);
    case DECODE_ZSTD:
        return decode_zstd(bytes, size, limit_bytes, out);
    }
    return CH_ERR_UNSUPPORTED;
}

enum {
    LEVEL = 3, // of nine: lists are made for each request
    MEMORY = 8,
};

bool compress_wanted(const char *accepted)
{
    for (const char *at = accepted; at != NULL && *at != 0;) {
        size_t size = strcspn(at, ",");
        const char *end = at + size;
        const char *name = at + strspn(at, " \t");
        size_t length = strcspn(name, " \t;,");
        const char *quality = name + length;
        bool none = quality < end && // `;q=0` refuses it
                    strspn(quality, "; \tq=0.") == (size_t)(end - quality) &&
                    memchr(quality, '0', (size_t)(end - quality)) != NULL;
        if (length == 4 && strncasecmp(name, "gzip", length) == 0)
            return !none;
        at = end + (*end == ',');
    }
    return false;
}

bool compress_answer(struct text *body)
{
    z_stream stream = { 0 };
    if (body->size < COMPRESS_LEAST || body->size > UINT_MAX ||
        deflateInit2(&stream, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    struct text out = { .bytes = malloc(body->size), .capacity = body->size };
    stream.next_in = (unsigned char *)body->bytes;
    stream.avail_in = (unsigned)body->size;
    stream.next_out = (unsigned char *)out.bytes;
    stream.avail_out = out.bytes != NULL ? (unsigned)body->size : 0;
    bool done = out.bytes != NULL && deflate(&stream, Z_FINISH) == Z_STREAM_END;
    out.size = stream.total_out;
    deflateEnd(&stream);
    if (!done) {
        text_deinit(&out);
        return false;
    }
    text_deinit(body);
    *body = out;
    return true;
}
