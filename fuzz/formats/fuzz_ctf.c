// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz.h"
#include "symbolizer/types/type_ctf.h"
#include "symbolizer/types/type_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct type_table table;
    struct type_ctf ctf = { .count = 0 };
    struct text name = { .limit_bytes = 1 << 20 };
    uint64_t bytes_of;
    if (type_table_init(&table) == CH_OK &&
        type_ctf_load(&ctf, &table, bytes, size) == CH_OK)
        for (uint32_t i = 0; i < table.count; i++)
            (void)!(type_name(&table, i, &name) + type_size(&table, i, &bytes_of));
    text_deinit(&name);
    type_table_deinit(&table);
    type_ctf_unload(&ctf);
    return 0;
}
