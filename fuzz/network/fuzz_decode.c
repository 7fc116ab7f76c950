// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "collector/entry/decode.h"
#include "fuzz/fuzz.h"

enum { LIMIT = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    for (int encoding = DECODE_IDENTITY; encoding <= DECODE_ZSTD; encoding++) {
        struct text out = { 0 };
        if (decode_body((enum decode_encoding)encoding, bytes, size, LIMIT, &out) ==
                CH_OK &&
            out.size > LIMIT)
            abort();
        text_deinit(&out);
    }
    return 0;
}
