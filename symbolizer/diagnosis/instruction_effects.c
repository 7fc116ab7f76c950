// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/diagnosis/instruction.h"
#include "symbolizer/diagnosis/instruction_common.h"

enum ch_status instruction_read_effects(const uint8_t *bytes, size_t size,
                                        uint64_t address,
                                        struct instruction_effects *out)
{
    return instruction_common_effects(bytes, size, address, out)
               ? CH_OK
               : instruction_library_effects(bytes, size, address, out);
}
