// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz.h"
#include "symbolizer/types/type_btf.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct type_bytes file = { bytes, size };
    for (int split = 0; split < 2; split++) {
        const struct type_bytes base = { split != 0 ? bytes : NULL, size };
        struct type_table table;
        if (type_table_init(&table) == CH_OK)
            (void)!type_btf_load(&table, &file, &base);
        type_table_deinit(&table);
    }
    return 0;
}
