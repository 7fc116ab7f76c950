// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/decompress.h"

#include <libdeflate.h>
#include <zstd.h>

static enum ch_status decompress_zlib(const uint8_t *from, size_t from_size,
                                      uint8_t *out, size_t size)
{
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    if (decompressor == NULL)
        return CH_ERR_NO_MEMORY;
    enum libdeflate_result result =
        libdeflate_zlib_decompress(decompressor, from, from_size, out, size, NULL);
    libdeflate_free_decompressor(decompressor);
    return result == LIBDEFLATE_SUCCESS ? CH_OK : CH_ERR_MALFORMED;
}

enum ch_status decompress(uint32_t method, struct cursor stream, uint8_t *out,
                          size_t size)
{
    const size_t from_size = cursor_left(&stream);
    const uint8_t *from = cursor_take(&stream, from_size);
    if (from == NULL)
        return CH_ERR_TRUNCATED;
    if (method == DECOMPRESS_ZLIB)
        return decompress_zlib(from, from_size, out, size);
    if (method != DECOMPRESS_ZSTD)
        return CH_ERR_UNSUPPORTED;
    // An error is a number larger than any size.
    return ZSTD_decompress(out, size, from, from_size) == size ? CH_OK
                                                               : CH_ERR_MALFORMED;
}
