// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/sframe.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct sframe_section section;
    struct sframe_function function;
    struct sframe_rows rows;
    struct unwind_row row;
    struct unwind_row found;
    if (sframe_section_init(&section, bytes, size, 0x1000) != CH_OK)
        return 0;
    for (uint32_t i = 0; sframe_read_function(&section, i, &function) == CH_OK; i++) {
        (void)!sframe_lookup(&section, function.start + function.size / 2, &found);
        sframe_rows_init(&rows, &section, &function);
        while (sframe_next_row(&rows, &row) == CH_OK)
            ;
    }
    return 0;
}
