// SPDX-License-Identifier: Apache-2.0
#include "upload/bodies/packing.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

// ZSTD_LEVEL and GZIP_MEMORY are the libraries' defaults; adding 16 to the window's
// size makes deflateInit2 write a gzip header.
enum { ZSTD_LEVEL = 3, GZIP_FORMAT = 16 + MAX_WBITS, GZIP_MEMORY = 8 };

enum ch_status packing_zstd(const void *bytes, size_t size, struct text *out)
{
    size_t bound = ZSTD_compressBound(size);
    char *packed = malloc(bound);
    if (packed == NULL)
        return CH_ERR_NO_MEMORY;
    size_t count = ZSTD_compress(packed, bound, bytes, size, ZSTD_LEVEL);
    if (!ZSTD_isError(count))
        text_append(out, packed, count);
    free(packed);
    return text_ok(out) && !ZSTD_isError(count) ? CH_OK : CH_ERR_NO_MEMORY;
}

static enum ch_status packing_gzip(const void *bytes, size_t size, struct text *out)
{
    z_stream stream = { .next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)size };
    if (size > UINT_MAX / 2 ||
        deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_FORMAT,
                     GZIP_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return CH_ERR_NO_MEMORY;
    size_t bound = deflateBound(&stream, size);
    char *packed = malloc(bound);
    stream.next_out = (Bytef *)packed;
    stream.avail_out = (uInt)bound;
    bool done = packed != NULL && deflate(&stream, Z_FINISH) == Z_STREAM_END;
    if (done)
        text_append(out, packed, bound - stream.avail_out);
    (void)deflateEnd(&stream);
    free(packed);
    return done && text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}

enum ch_status packing_body(const struct text *plain, struct text *packed,
                            struct http_request *request)
{
    enum { PLAIN_MAX_BYTES = 128 << 10 };
    const struct text *body = plain;
    if (plain->size > PLAIN_MAX_BYTES) {
        enum ch_status status = packing_gzip(plain->bytes, plain->size, packed);
        if (status != CH_OK)
            return status;
        request->encoding = "gzip";
        body = packed;
    }
    request->body = body->bytes;
    request->size = body->size;
    return CH_OK;
}
