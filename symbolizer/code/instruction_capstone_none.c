// SPDX-License-Identifier: Apache-2.0
//
// Built in place of instruction_capstone.c if Capstone is switched off or missing.
#include "symbolizer/code/instruction.h"

enum ch_status instruction_decode_aarch64(const uint8_t *bytes, size_t size,
                                          struct instruction *out)
{
    (void)bytes, (void)size, (void)out;
    return CH_ERR_UNSUPPORTED;
}

enum ch_status instruction_print_aarch64(const uint8_t *bytes, size_t size,
                                         uint64_t address,
                                         char out[static INSTRUCTION_TEXT_MAX],
                                         size_t *out_length)
{
    (void)bytes, (void)size, (void)address, (void)out, (void)out_length;
    return CH_ERR_UNSUPPORTED;
}
