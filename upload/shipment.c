// SPDX-License-Identifier: Apache-2.0
#include "upload/shipment.h"

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
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

void verdict_begin(struct verdict *out)
{
    *out = (struct verdict){ .state = TARGET_PENDING,
                             .wait_s = -1,
                             .attachments_wait_s = -1 };
}

void verdict_down(struct verdict *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(out->why, sizeof(out->why), format, arguments);
    va_end(arguments);
    out->state = TARGET_PENDING;
    out->target_down = true;
}

// plain_body copies a server's message, which is not to be trusted, as one printable
// line.
static void plain_body(const char *words, char *to, size_t size)
{
    size_t length = 0;
    for (; words != NULL && *words != 0 && length + 1 < size; words++)
        to[length++] = *words >= ' ' && *words <= '~' ? *words : '?';
    to[length] = 0;
}

void verdict_refused(const struct http_reply *reply, const char *what,
                     const char *words, struct verdict *out)
{
    char said[128];
    plain_body(words, said, sizeof(said));
    const char *colon = said[0] != 0 ? ": " : "";
    // Where the token is wrong, the user can correct it: the report waits.
    bool refused_access =
        reply->status == 401 || reply->status == 403 || reply->status == 407;
    // Request Timeout, Too Early and Too Many Requests ask the client to try again
    // later.
    bool temporary = reply->status >= 500 || reply->status == 408 ||
                     reply->status == 425 || reply->status == 429;
    if (temporary || refused_access) {
        verdict_down(out, "it answered %d%s%s", reply->status, colon, said);
    } else if (reply->status >= 400) {
        out->state = TARGET_FAILED;
        (void)snprintf(out->why, sizeof(out->why), "it refused %s with %d%s%s", what,
                       reply->status, colon, said);
    } else {
        verdict_down(out, "it answered %d; redirects are not followed", reply->status);
    }
}

void verdict_rejected(struct verdict *out, const char *words)
{
    char said[128];
    plain_body(words, said, sizeof(said));
    out->state = TARGET_FAILED;
    (void)snprintf(out->why, sizeof(out->why), "it rejected the report%s%s",
                   said[0] != 0 ? ": " : "", said);
}

json_t *verdict_answer(const struct http_reply *reply)
{
    return reply->body.size != 0
               ? json_loadb(reply->body.bytes, reply->body.size, 0, NULL)
               : NULL;
}
