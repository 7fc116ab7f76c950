// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz.h"
#include "symbolizer/names/address_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint64_t unit;
    (void)address_table_find(cursor_over(bytes, size), 0x1000, &unit);
    (void)address_table_find(cursor_over(bytes, size), UINT64_MAX, &unit);
    return 0;
}
