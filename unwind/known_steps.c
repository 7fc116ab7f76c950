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

// known_step_save adds a register that is at an offset from the CFA. False: that is not
// within the words that are read.
static bool known_step_save(struct known_step *step, unsigned reg, int64_t offset)
{
    // The stack pointer and the PC are the step's own.
    if (step->set >> reg & 1)
        return false;
    if (offset % WORD != 0 || offset >= 0 || offset < -WORD * KNOWN_STEP_WORDS ||
        step->saved_count == KNOWN_STEP_SAVED)
        return false;
    uint8_t bytes = (uint8_t)-offset;
    step->saved[step->saved_count++] =
        (struct known_saved){ (uint8_t)reg, (int8_t)offset };
    step->bytes = bytes > step->bytes ? bytes : step->bytes;
    step->set |= UINT64_C(1) << reg;
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
    out->set = UINT64_C(1) << arch->sp | UINT64_C(1) << arch->pc;
    out->bytes = WORD;
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
    struct known_step step = { .pc = pc, .how = (uint8_t)how, .trust = (uint8_t)trust };
    // Where a row ends at the return address, the walk looks for a signal there.
    if (row->end != pc && known_step_make(steps->arch, row, &step))
        steps->steps[known_steps_at(pc)] = step;
}

static uint64_t known_word(const uint8_t *cfa, int offset)
{
    uint64_t word;
    memcpy(&word, cfa + offset, sizeof(word));
    return word;
}

// known_step_is returns true if step is the one from the return address pc.
static bool known_step_is(const struct known_step *step, enum setting_unwind how,
                          uint64_t pc)
{
    return step->pc == pc && step->how == how && pc != 0;
}

// known_steps_follow gives the step from the return address pc, to which step led;
// NULL: there is none. The step that followed the last time is tried first: a processor
// goes on with it before it has loaded pc.
static struct known_step *known_steps_follow(struct known_steps *steps,
                                             struct known_step *step,
                                             enum setting_unwind how, uint64_t pc)
{
    struct known_step *caller = &steps->steps[step->caller];
    if (known_step_is(caller, how, pc))
        return caller;
    size_t place = known_steps_at(pc);
    caller = &steps->steps[place];
    if (!known_step_is(caller, how, pc))
        return NULL;
    step->caller = (uint8_t)place;
    return caller;
}

size_t known_steps_repeat(struct known_steps *steps, enum setting_unwind how,
                          struct unwind_state *state, struct unwind_frame *frames,
                          size_t room)
{
    // Copies, because the words that are stored might otherwise be taken to change
    // these.
    const struct unwind_arch arch = *steps->arch;
    const struct memory_window window = *steps->window;
    const uint64_t fp = UINT64_C(1) << arch.fp;
    uint64_t *value = state->registers.value;
    uint64_t pc = value[arch.pc];
    uint64_t sp = value[arch.sp];
    uint64_t known = state->known;
    uint64_t kept = state->kept;
    struct unwind_frame *frame = frames;
    struct known_step *step = &steps->steps[known_steps_at(pc)];
    if (!known_step_is(step, how, pc))
        return 0;

    for (; frame != frames + room && known >> step->cfa_reg & 1; frame++) {
        uint64_t cfa = value[step->cfa_reg] + (uint64_t)step->cfa_offset;
        uint64_t inside = cfa - window.address;
        if (cfa % WORD != 0 || cfa <= sp || inside < step->bytes ||
            inside > window.size)
            break;
        const uint8_t *top = window.bytes + inside;
        uint64_t caller_pc = known_word(top, -WORD);
        struct known_step *caller = known_steps_follow(steps, step, how, caller_pc);
        if (caller == NULL)
            break;

        // SFrame recovers no registers but three.
        if (step->trust == UNWIND_TRUST_SFRAME)
            known &= fp;
        kept = (kept & arch.kept) | (known & fp) | step->set;
        known |= step->set;
        const struct known_saved *end = step->saved + step->saved_count;
        for (const struct known_saved *saved = step->saved; saved != end; saved++)
            value[saved->reg] = known_word(top, saved->offset);
        value[arch.sp] = sp = cfa;
        pc = caller_pc;
        frame->address = pc;
        frame->kind = UNWIND_KIND_RA;
        frame->trust = (enum unwind_trust)step->trust;
        step = caller;
    }
    value[arch.pc] = pc;
    state->known = known;
    state->kept = kept;
    return (size_t)(frame - frames);
}
