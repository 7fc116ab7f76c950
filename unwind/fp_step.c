// SPDX-License-Identifier: Apache-2.0
#include "unwind/fp_step.h"

// A frame record further from the stack pointer than this is refused: no sane frame is
// larger, whereas a stray value in the frame pointer register usually is further away.
enum { MAX_FRAME_BYTES = 8 << 20 };

enum ch_status fp_step(const struct unwind_arch *arch,
                       const struct memory_reader *memory, struct unwind_state *state)
{
    uint64_t fp = state->registers.value[arch->fp];
    uint64_t sp = state->registers.value[arch->sp];
    uint64_t caller_fp;
    uint64_t caller_pc;

    if (arch->frame_record == 0 || !unwind_state_knows(state, arch->fp))
        return CH_ERR_UNSUPPORTED;
    if (fp == 0)
        return CH_END;
    if (fp % arch->word != 0 || fp < sp || fp - sp > MAX_FRAME_BYTES)
        return CH_ERR_MALFORMED;
    enum ch_status status = memory_read_word(memory, fp, &caller_fp);
    if (status == CH_OK)
        status = memory_read_word(memory, fp + arch->word, &caller_pc);
    if (status != CH_OK)
        return status;
    if (caller_pc == 0)
        return CH_END;

    state->known = 0;
    unwind_state_set(state, arch->pc, unwind_arch_address(arch, caller_pc));
    unwind_state_set(state, arch->fp, caller_fp);
    unwind_state_set(state, arch->sp, fp + arch->frame_record);
    // Where a call pushes nothing, a record may be anywhere in its frame: GCC has it at
    // the low end. What is above it is then the least that the stack pointer can be.
    if (arch->link != UNWIND_NO_LINK)
        unwind_state_forget(state, arch->sp);
    return CH_OK;
}
