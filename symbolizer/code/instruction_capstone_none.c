// SPDX-License-Identifier: Apache-2.0
//
// Built in place of instruction_capstone.c if Capstone is switched off or missing.
#include "symbolizer/code/instruction.h"

enum ch_status instruction_text_aarch64(const uint8_t bytes[static 4], uint64_t address,
                                        char out[static INSTRUCTION_TEXT_MAX])
{
    (void)bytes, (void)address, (void)out;
    return CH_ERR_UNSUPPORTED;
}
