// SPDX-License-Identifier: Apache-2.0
#include "collector/server/compress.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    LEVEL = 3,        // of nine: lists are made for each request
    GZIP_WINDOW = 31, // 15 bits, and 16 for a header of gzip
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
