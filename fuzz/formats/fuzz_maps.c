// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/maps.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct cursor text = cursor_over(bytes, size);
    struct maps_entry entry;
    while (maps_next(&text, &entry) != CH_END)
        ;
    return 0;
}
