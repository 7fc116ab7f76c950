// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "formats/inflate.h"
#include "fuzz/fuzz.h"

enum { OUT_MAX = 1 << 16 };

// piped is a pipe in memory.
struct piped {
    struct cursor in;
    size_t piece; // read at once
    uint8_t out[OUT_MAX];
    size_t written;
};

static size_t read_piece(void *context, void *to, size_t size)
{
    struct piped *p = context;
    size_t left = cursor_left(&p->in);
    size_t part = left < size ? left : size;
    part = part < p->piece ? part : p->piece;
    if (part != 0)
        memcpy(to, cursor_take(&p->in, part), part);
    return part;
}

static bool write_piece(void *context, const void *from, size_t size)
{
    struct piped *p = context;
    if (size > OUT_MAX - p->written)
        abort();
    memcpy(p->out + p->written, from, size);
    p->written += size;
    return true;
}

// Two bytes are the size of what comes out, the rest is the stream. What is accepted is
// what zlib makes of it, in pieces as well.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static uint8_t ours[OUT_MAX];
    static uint8_t theirs[OUT_MAX];
    if (size < 2)
        return 0;
    size_t wanted = (size_t)bytes[0] << 8 | bytes[1];
    uLongf written = wanted;
    uLong read = size - 2;
    bool right =
        uncompress2(theirs, &written, bytes + 2, &read) == Z_OK && written == wanted;
    bool accepted =
        inflate_zlib(cursor_over(bytes + 2, size - 2), ours, wanted) == CH_OK;
    if (accepted != right || (right && memcmp(ours, theirs, wanted) != 0))
        abort();
    static struct piped piped;
    piped.in = cursor_over(bytes + 2, size - 2);
    piped.piece = 1 + bytes[1] % 9;
    piped.written = 0;
    const struct inflate_pipe pipe = { read_piece, write_piece, &piped };
    if ((inflate_zlib_pipe(&pipe, wanted) == CH_OK) != right ||
        (right && memcmp(piped.out, theirs, wanted) != 0))
        abort();
    return 0;
}
