// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "report/json/tree_bytes.h"

// What was read is written again, and is then read as the same.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    json_t *tree = NULL;
    json_t *again = NULL;
    struct text written = { 0 };
    if (tree_bytes_read(bytes, size, &tree) != CH_OK)
        return 0;
    if (tree_bytes_write(tree, &written) != CH_OK ||
        tree_bytes_read(written.bytes, written.size, &again) != CH_OK ||
        !json_equal(tree, again))
        abort();
    json_decref(tree);
    json_decref(again);
    text_deinit(&written);
    return 0;
}
