// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/fdr.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fdr_reader reader;
    struct fdr_record record;
    if (fdr_reader_init(&reader, bytes, size) == CH_OK) {
        while (fdr_next_record(&reader, &record) != CH_END)
            ;
    }
    const struct fdr_header header = { .version = 1 + (uint16_t)(size % 5) };
    fdr_reader_init_buffer(&reader, &header, bytes, size);
    while (fdr_next_record(&reader, &record) != CH_END)
        ;
    return 0;
}
