// SPDX-License-Identifier: Apache-2.0
#include "formats/runtime/java_lines.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint32_t line;
    if (size < 2)
        return 0;
    enum ch_status status =
        java_lines_find(bytes + 2, size - 2, bytes[0] & 1, bytes[1] - 1, &line);
    return status == CH_OK && line == 0 ? -1 : 0;
}
