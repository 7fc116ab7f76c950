// SPDX-License-Identifier: Apache-2.0
//
// Abbreviations, of as many bytes as the first says, and units.
#include "formats/debug/dwarf_members.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct dwarf_member members[] = { { .name = "pc" }, { .name = "id" } };
    if (size == 0 || bytes[0] >= size)
        return 0;
    size_t first = bytes[0];
    enum ch_status status =
        dwarf_members_find(cursor_over(bytes + 1 + first, size - 1 - first),
                           cursor_over(bytes + 1, first), "run", "g", members, 2);
    return status == CH_END ? -1 : 0;
}
