// SPDX-License-Identifier: Apache-2.0
#include "unwind/fp_step.h"

// A frame record further from the stack pointer than this is not believed: no sane
// frame is larger, and a stray value in the frame pointer register usually is.
enum { MAX_FRAME_BYTES = 8 << 20 };

enum ch_status fp_step(const struct memory_reader *memory,
                       struct unwind_registers *registers)
{
    uint64_t fp = registers->value[UNWIND_FP];
    uint64_t sp = registers->value[UNWIND_SP];
    uint64_t caller_fp;
    uint64_t caller_pc;

    if (fp == 0)
        return CH_END;
    if (fp % 8 != 0 || fp < sp || fp - sp > MAX_FRAME_BYTES)
        return CH_ERR_MALFORMED;
    enum ch_status status = memory_read_word(memory, fp, &caller_fp);
    if (status == CH_OK)
        status = memory_read_word(memory, fp + 8, &caller_pc);
    if (status != CH_OK)
        return status;
    if (caller_pc == 0)
        return CH_END;

    *registers = (struct unwind_registers){ 0 };
    registers->value[UNWIND_PC] = caller_pc;
    registers->value[UNWIND_FP] = caller_fp;
    registers->value[UNWIND_SP] = fp + 16;
    return CH_OK;
}
