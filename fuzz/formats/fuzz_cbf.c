// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/cbf.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static uint8_t again[1 << 16];
    struct cbf_reader reader;
    struct cbf_writer writer;
    struct cbf_frame frame;
    size_t capacity = size < sizeof(again) - 2 ? size + 2 : sizeof(again);
    if (cbf_reader_init(&reader, bytes, size) != CH_OK ||
        cbf_writer_init(&writer, reader.word_bits, size % 2, again, capacity) != CH_OK)
        return 0;
    while (cbf_next_frame(&reader, &frame) == CH_OK &&
           cbf_write_frame(&writer, frame.kind, frame.value) == CH_OK)
        ;
    cbf_write_end(&writer);
    return 0;
}
