// SPDX-License-Identifier: Apache-2.0
#include "formats/inflate.h"

#include "formats/inflate_stream.h"

enum ch_status inflate_zlib(struct cursor stream, uint8_t *out, size_t size)
{
    struct inflate_stream z;
    bool last = false;
    inflate_stream_over(&z, stream, out, size);
    enum ch_status status = inflate_stream_head(&z);
    while (status == CH_OK && !last)
        status = inflate_stream_block(&z, &last);
    return status == CH_OK ? inflate_stream_check(&z) : status;
}
