// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "formats/inflate.h"
#include "fuzz/fuzz.h"

enum { OUT_MAX = 1 << 16 };

// Two bytes are the size of what comes out, the rest is the stream. What is accepted is
// what zlib makes of it.
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
    return 0;
}
