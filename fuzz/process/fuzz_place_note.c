// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz.h"
#include "images/images.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct image_place places[PLACE_KINDS] = { 0 };
    place_note_read(cursor_over(bytes, size), size % 2 != 0 ? 8 : 4, 0x1000, places);
    return 0;
}
