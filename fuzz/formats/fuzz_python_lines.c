// SPDX-License-Identifier: Apache-2.0
//
// A table of lines; the first byte chooses its form, the next two the offset.
#include "formats/runtime/python_lines.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint32_t line;
    if (size < 3)
        return 0;
    int64_t offset = (int16_t)(bytes[1] | bytes[2] << 8);
    (void)!python_lines_find((enum python_lines)(bytes[0] % 3), bytes + 3, size - 3, 10,
                             offset, &line);
    return 0;
}
