// SPDX-License-Identifier: Apache-2.0
//
// Built in place of instruction_zydis.c if Zydis is switched off or missing.
#include "symbolizer/code/instruction.h"

enum ch_status instruction_decode(const uint8_t *bytes, size_t size,
                                  struct instruction *out)
{
    (void)bytes;
    (void)size;
    (void)out;
    return CH_ERR_UNSUPPORTED;
}

enum ch_status instruction_read_effects_x86_64(const uint8_t *bytes, size_t size,
                                               uint64_t address,
                                               struct instruction_effects *out)
{
    (void)bytes;
    (void)size;
    (void)address;
    (void)out;
    return CH_ERR_UNSUPPORTED;
}

enum ch_status instruction_print_x86_64(const uint8_t *bytes, size_t size,
                                        uint64_t address,
                                        char out[static INSTRUCTION_TEXT_MAX],
                                        size_t *out_length)
{
    (void)bytes, (void)size, (void)address, (void)out, (void)out_length;
    return CH_ERR_UNSUPPORTED;
}
