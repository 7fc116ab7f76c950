// SPDX-License-Identifier: Apache-2.0
#include "unwind/known_steps.h"

#include <stdlib.h>
#include <string.h>

enum { WORD = sizeof(uint64_t) };

struct known_steps *known_steps_create(const struct unwind_arch *arch,
                                       const struct memory_reader *memory)
{
    // A window of another byte order or word size would need more than loads.
    const bool big_endian_host = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    if (memory->window == NULL || memory->narrow ||
        memory->big_endian != big_endian_host || arch->link != UNWIND_NO_LINK ||
        arch->word != WORD || arch->stack_below != 0)
        return NULL;
    struct known_steps *steps = calloc(1, sizeof(*steps));
    if (steps != NULL) {
        steps->arch = arch;
        steps->window = memory->window;
    }
    return steps;
}

// known_steps_at is the place of a return address.
static size_t known_steps_at(uint64_t pc)
{
    // Multiplicative hashing: the top 8 bits number KNOWN_STEPS places.
    return (size_t)((pc * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
}

// known_step_save adds a register that lies at an offset from the CFA. False: that is
// not within the words that are read.
static bool known_step_save(struct known_step *step, unsigned reg, int64_t offset)
{
    if (offset % WORD != 0 || offset >= 0 || offset < -WORD * KNOWN_STEP_WORDS ||
        step->saved_count == KNOWN_STEP_SAVED)
        return false;
    uint8_t words = (uint8_t)(-offset / WORD);
    step->saved[step->saved_count++] = (struct known_saved){ (uint8_t)reg, words };
    step->words = words > step->words ? words : step->words;
    return true;
}

// known_step_make fills in a step by its row. False: it depends on more than the stack.
static bool known_step_make(const struct unwind_arch *arch,
                            const struct unwind_row *row, struct known_step *out)
{
    if (row->flags != 0 || row->cfa.kind != UNWIND_REGISTER_PLUS ||
        row->cfa.reg >= UNWIND_REGISTERS || row->cfa.offset < 0 ||
        row->cfa.offset > INT32_MAX || row->ra.kind != UNWIND_AT_CFA ||
        row->ra.offset != -WORD ||
        (row->fp.kind != UNWIND_SAME && row->fp.kind != UNWIND_AT_CFA))
        return false;
    out->cfa_reg = (uint8_t)row->cfa.reg;
    out->cfa_offset = (int32_t)row->cfa.offset;
    out->words = 1;
    bool plain =
        row->fp.kind == UNWIND_SAME || known_step_save(out, arch->fp, row->fp.offset);
    for (uint32_t i = 0; i < row->other_count && plain; i++)
        plain = row->others[i].rule.kind == UNWIND_AT_CFA &&
                row->others[i].reg < UNWIND_REGISTERS &&
                known_step_save(out, row->others[i].reg, row->others[i].rule.offset);
    return plain;
}

void known_steps_add(struct known_steps *steps, enum setting_unwind how, uint64_t pc,
                     const struct unwind_row *row, enum unwind_trust trust)
{
    // SFrame recovers no registers but three.
    bool tracks = trust == UNWIND_TRUST_SFRAME;
    struct known_step step = { .pc = pc,
                               .how = (uint8_t)how,
                               .trust = (uint8_t)trust,
                               .known = tracks ? UINT64_C(1) << steps->arch->fp
                                               : ~UINT64_C(0) };
    // Where a row ends at the return address, the walk looks for a signal there.
    if (row->end != pc && known_step_make(steps->arch, row, &step))
        steps->steps[known_steps_at(pc)] = step;
}

static uint64_t known_word(const uint8_t *cfa, unsigned words)
{
    uint64_t word;
    memcpy(&word, cfa - (size_t)words * WORD, sizeof(word));
    return word;
}

bool known_steps_repeat(const struct known_steps *steps, enum setting_unwind how,
                        struct unwind_state *state, enum unwind_trust *out_trust)
{
    const struct unwind_arch *arch = steps->arch;
    const struct memory_window *window = steps->window;
    uint64_t *value = state->registers.value;
    uint64_t pc = value[arch->pc];
    const struct known_step *step = &steps->steps[known_steps_at(pc)];
    if (step->pc != pc || step->how != how || !unwind_state_knows(state, step->cfa_reg))
        return false;

    uint64_t cfa = value[step->cfa_reg] + (uint64_t)step->cfa_offset;
    size_t bytes = (size_t)step->words * WORD;
    uint64_t skip = cfa - bytes - window->address;
    if (cfa % WORD != 0 || cfa <= value[arch->sp] || window->size < bytes ||
        skip > window->size - bytes)
        return false;
    const uint8_t *top = window->bytes + skip + bytes;
    uint64_t caller = known_word(top, 1);
    const struct known_step *next = &steps->steps[known_steps_at(caller)];
    if (next->pc != caller || next->how != how || caller == 0)
        return false;

    uint64_t fp = UINT64_C(1) << arch->fp;
    uint64_t set = UINT64_C(1) << arch->sp | UINT64_C(1) << arch->pc;
    state->known &= step->known;
    state->kept &= arch->kept;
    state->kept |= state->known & fp;
    for (unsigned i = 0; i < step->saved_count; i++) {
        value[step->saved[i].reg] = known_word(top, step->saved[i].words);
        set |= UINT64_C(1) << step->saved[i].reg;
    }
    value[arch->sp] = cfa;
    value[arch->pc] = caller;
    state->known |= set;
    state->kept |= set;
    *out_trust = (enum unwind_trust)step->trust;
    return true;
}
