// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/sframe_file.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct sframe_file file;
    struct sframe_section section;
    struct sframe_function function;
    struct sframe_start start;
    size_t offset = 0;
    if (sframe_file_init(&file, bytes, size) != CH_OK)
        return 0;
    while (sframe_file_next(&file, &offset, &section) == CH_OK) {
        for (uint32_t i = 0; sframe_read_function(&section, i, &function) == CH_OK; i++)
            sframe_file_start(&file, &section, i, &function, &start);
    }
    return 0;
}
