// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/image_map.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    CH_CLEANUP(image_map_reader_deinit) struct image_map_reader reader;
    CH_CLEANUP(image_map_writer_deinit) struct image_map_writer writer = { 0 };
    CH_CLEANUP(text_deinit) struct text out = { 0 };
    struct image_map_image image;
    if (image_map_reader_init(&reader, bytes, size) == CH_OK &&
        image_map_writer_init(&writer, &out, reader.word_bits, "", SIZE_MAX) == CH_OK) {
        while (image_map_next(&reader, &image) == CH_OK)
            (void)!image_map_write(&writer, &image);
    }
    return 0;
}
