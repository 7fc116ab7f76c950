// SPDX-License-Identifier: Apache-2.0
#include "unwind/guess_step.h"

enum { SCAN_STEP_MAX_FRAME_BYTES = 1 << 20 };

static bool scan_is_return_address(const struct scan_step *scan, uint64_t address)
{
    return address != 0 && scan->is_code(scan->context, address) &&
           scan->arch->after_call(scan->memory, address);
}

// likely_record returns true if the words at fp look like a frame record further out.
static bool likely_record(const struct scan_step *scan, uint64_t fp, uint64_t sp)
{
    uint64_t caller;
    return scan->arch->frame_record != 0 && fp % scan->arch->word == 0 && fp >= sp &&
           fp - sp <= SCAN_STEP_MAX_FRAME_BYTES &&
           memory_read_word(scan->memory, fp + scan->arch->word, &caller) == CH_OK &&
           scan_is_return_address(scan, unwind_arch_address(scan->arch, caller));
}

// take_caller fills state with the frame that the return address at `at` leads to. The
// word before it is the caller's saved frame pointer if its callee keeps frame records;
// otherwise the register may still hold it. Either is taken only if it leads to a frame
// record itself.
static void take_caller(const struct scan_step *scan, uint64_t at, uint64_t caller,
                        struct unwind_state *state)
{
    const struct unwind_arch *arch = scan->arch;
    uint64_t sp = at + arch->word;
    uint64_t fp = state->registers.value[arch->fp];
    bool had_fp = unwind_state_knows(state, arch->fp);
    uint64_t saved;

    state->known = 0;
    unwind_state_set(state, arch->pc, caller);
    unwind_state_set(state, arch->sp, sp);
    // As in fp_step: where a call pushes nothing, the word may be anywhere in its
    // frame.
    if (arch->link != UNWIND_NO_LINK)
        unwind_state_forget(state, arch->sp);
    if (memory_read_word(scan->memory, at - arch->word, &saved) == CH_OK &&
        likely_record(scan, saved, sp))
        unwind_state_set(state, arch->fp, saved);
    else if (had_fp && likely_record(scan, fp, sp))
        unwind_state_set(state, arch->fp, fp);
}

enum ch_status scan_step(const struct scan_step *scan, uint32_t *words_left,
                         struct unwind_state *state)
{
    const struct unwind_arch *arch = scan->arch;
    uint64_t at = state->registers.value[arch->sp];
    uint64_t word;
    if (at % arch->word != 0)
        return CH_ERR_MALFORMED;

    for (unsigned i = 0; i < SCAN_STEP_WORDS && *words_left != 0;
         i++, at += arch->word) {
        --*words_left;
        enum ch_status status = memory_read_word(scan->memory, at, &word);
        if (status != CH_OK)
            return i == 0 ? status : CH_ERR_NOT_FOUND;
        word = unwind_arch_address(arch, word);
        if (!scan_is_return_address(scan, word))
            continue;
        take_caller(scan, at, word, state);
        return CH_OK;
    }
    return CH_ERR_NOT_FOUND;
}

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
    if (fp % arch->word != 0 || fp < sp || fp - sp > GUESS_FRAME_BYTES)
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
