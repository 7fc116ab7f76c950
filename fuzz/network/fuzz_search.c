// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "collector/requests/search.h"
#include "fuzz/fuzz.h"

// What was understood, and is written again, has to be the same search.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct search search = { .now_ms = 1 };
    struct search again = { .now_ms = 1 };
    struct text input = { 0 };
    struct text out = { 0 };
    text_append(&input, bytes, size);
    text_append(&input, "", 1);
    if (search_read(&search, input.bytes) == CH_OK) {
        search_write(&search, SIZE_MAX, &out);
        text_append(&out, "", 1);
        if (search_read(&again, out.bytes) == CH_OK && again.count != search.count)
            abort();
    }
    text_deinit(&input);
    text_deinit(&out);
    return 0;
}
