// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz.h"
#include "unwind/cfi_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct cfi_processor processor = { .register_count = 32,
                                             .fp = 29,
                                             .signs_returns = true };
    for (int kind = CFI_EH_FRAME; kind <= CFI_DEBUG_FRAME; kind++) {
        const struct cfi_section section = { .kind = (enum cfi_kind)kind };
        struct cfi_index index;
        struct unwind_row row;
        if (cfi_index_init(&index, &section, bytes, size) != CH_OK)
            continue;
        for (size_t i = 0; i < index.count; i++)
            (void)!cfi_index_find(&index, &processor, index.entries[i].end - 1, &row);
        cfi_index_deinit(&index);
    }
    return 0;
}
