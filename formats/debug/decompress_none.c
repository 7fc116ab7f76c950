// SPDX-License-Identifier: Apache-2.0
//
// For an agent that is built with libc alone.
#include "formats/debug/decompress.h"

enum ch_status decompress(uint32_t method, struct cursor stream, uint8_t *out,
                          size_t size)
{
    (void)method;
    (void)stream;
    (void)out;
    (void)size;
    return CH_ERR_UNSUPPORTED;
}
