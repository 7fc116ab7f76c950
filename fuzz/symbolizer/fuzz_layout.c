// SPDX-License-Identifier: Apache-2.0
//
// The first byte selects a row of the layout tables; the rest is the memory of the
// object and all that it leads to.
#include "fuzz/fuzz.h"
#include "support/fake_memory.h"
#include "support/layout_builder.h"
#include "symbolizer/values/type_value.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct layout_builder builder;
    static struct type_dwarf dwarf; // adds basic types alone
    if (builder.count == 0) {
        layout_builder_add_all(&builder);
        type_dwarf_init(&dwarf, NULL, &builder.table);
    }
    if (size == 0)
        return 0;
    const struct fake_region region = { 0x1000, bytes + 1, size - 1 };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    const struct memory_reader reader = fake_memory_reader(&memory);
    const struct type_value how = {
        .table = &builder.table, .memory = &reader, .dwarf = &dwarf, .sanitize = true
    };
    json_decref(
        type_value_make(&how, builder.types[bytes[0] % builder.count], 0x1000, "it"));
    return 0;
}
