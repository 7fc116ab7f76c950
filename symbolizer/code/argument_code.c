// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/code/argument_code.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum {
    OUTSIDE_STEPS = 1024, // instructions outside the function followed from one jump
    OUTSIDE_JUMPS = 256,
};

// source is where code is read from.
struct source {
    argument_code_fn *bytes;
    void *context;
};

static enum ch_status code_decode(const struct source *source, uint64_t vaddr,
                                  struct argument_step *out)
{
    size_t left;
    const uint8_t *bytes = source->bytes(source->context, vaddr, &left);
    out->vaddr = vaddr;
    return bytes != NULL ? instruction_read_effects(bytes, left, vaddr, &out->effects)
                         : CH_ERR_UNSUPPORTED;
}

static enum ch_status add_code_step(struct argument_code *code,
                                    const struct argument_step *step)
{
    if (!array_reserve(&code->steps, &code->capacity, code->count,
                       sizeof(code->steps[0])))
        return CH_ERR_NO_MEMORY;
    code->steps[code->count++] = *step;
    return CH_OK;
}

static enum ch_status decode_inside(struct argument_code *code,
                                    const struct source *source)
{
    uint64_t at = 0;
    size_t left;
    const uint8_t *bytes = source->bytes(source->context, code->entry, &left);
    if (bytes == NULL || left < code->size)
        return CH_ERR_UNSUPPORTED;
    while (at < code->size) {
        struct argument_step step = { .vaddr = code->entry + at };
        enum ch_status status = instruction_read_effects(
            bytes + at, (size_t)(code->size - at), step.vaddr, &step.effects);
        if (status == CH_OK)
            status = add_code_step(code, &step);
        if (status != CH_OK)
            return status == CH_ERR_NO_MEMORY ? status : CH_ERR_UNSUPPORTED;
        at += step.effects.length;
    }
    return at == code->size ? CH_OK : CH_ERR_UNSUPPORTED;
}

static bool is_inside(const struct argument_code *code, uint64_t vaddr)
{
    return vaddr - code->entry < code->size;
}

static bool is_jump(const struct instruction_effects *effects)
{
    return effects->flow == INSTRUCTION_JUMPS || effects->flow == INSTRUCTION_MAY_JUMP;
}

static bool goes_on(const struct instruction_effects *effects)
{
    return effects->flow == INSTRUCTION_NEXT || effects->flow == INSTRUCTION_MAY_JUMP ||
           effects->flow == INSTRUCTION_CALLS;
}

// outside is code outside of the function, reached by one jump.
struct outside {
    uint64_t waiting[OUTSIDE_STEPS];
    size_t count;
    struct argument_code found;
    bool came_back;
};

static void add_waiting(struct outside *outside, uint64_t vaddr)
{
    for (size_t i = 0; i < outside->count; i++)
        if (outside->waiting[i] == vaddr)
            return;
    if (outside->count < OUTSIDE_STEPS)
        outside->waiting[outside->count++] = vaddr;
}

static void note_jump(struct argument_code *code, struct outside *outside,
                      uint64_t target)
{
    if (!is_inside(code, target))
        add_waiting(outside, target);
    else if (target == code->entry)
        code->reentered = true;
    else
        outside->came_back = true;
}

// follow_run follows code from vaddr until it ends or jumps. False: its end was not
// reached.
static bool follow_run(struct argument_code *code, struct outside *outside,
                       const struct source *source, uint64_t vaddr)
{
    while (outside->found.count < OUTSIDE_STEPS) {
        struct argument_step step;
        if (code_decode(source, vaddr, &step) != CH_OK ||
            add_code_step(&outside->found, &step) != CH_OK)
            return false;
        if (is_jump(&step.effects))
            note_jump(code, outside, step.effects.target);
        if (!goes_on(&step.effects))
            return true;
        vaddr += step.effects.length;
    }
    return false;
}

// follow_outside follows the code at target, outside of the function, and adds it to
// the function if it jumps back. False: it jumps back, but could not be followed
// completely.
static bool follow_outside(struct argument_code *code, struct outside *outside,
                           const struct source *source, uint64_t target)
{
    bool whole = true;
    outside->count = outside->found.count = 0;
    outside->came_back = false;
    add_waiting(outside, target);
    for (size_t i = 0; i < outside->count; i++)
        whole = follow_run(code, outside, source, outside->waiting[i]) && whole;
    for (size_t i = 0; outside->came_back && i < outside->found.count; i++)
        whole = add_code_step(code, &outside->found.steps[i]) == CH_OK && whole;
    return whole || !outside->came_back;
}

// follow_all_outside calls follow_outside for each target of a jump out of the
// function.
static bool follow_all_outside(struct argument_code *code, const struct source *source)
{
    struct outside *outside = calloc(1, sizeof(*outside));
    uint64_t seen[OUTSIDE_JUMPS];
    size_t seen_count = 0;
    size_t count = code->count;
    bool whole = outside != NULL;
    for (size_t i = 0; whole && i < count; i++) {
        uint64_t target = code->steps[i].effects.target;
        size_t before = 0;
        if (!is_jump(&code->steps[i].effects) || is_inside(code, target))
            continue;
        while (before < seen_count && seen[before] != target)
            before++;
        if (before < seen_count)
            continue;
        if (seen_count < OUTSIDE_JUMPS)
            seen[seen_count++] = target;
        whole = follow_outside(code, outside, source, target);
    }
    if (outside != NULL)
        argument_code_deinit(&outside->found);
    free(outside);
    return whole;
}

static int compare_steps(const void *a, const void *b)
{
    const struct argument_step *one = a;
    const struct argument_step *other = b;
    return (one->vaddr > other->vaddr) - (one->vaddr < other->vaddr);
}

// sort_steps sorts the steps and removes duplicates.
static void sort_steps(struct argument_code *code)
{
    size_t kept = 0;
    qsort(code->steps, code->count, sizeof(code->steps[0]), compare_steps);
    for (size_t i = 0; i < code->count; i++)
        if (kept == 0 || code->steps[kept - 1].vaddr != code->steps[i].vaddr)
            code->steps[kept++] = code->steps[i];
    code->count = kept;
}

// targets_fit says whether every jump into the function leads to an instruction.
static bool targets_fit(struct argument_code *code)
{
    for (size_t i = 0; i < code->count; i++) {
        const struct instruction_effects *effects = &code->steps[i].effects;
        if (!is_jump(effects))
            continue;
        if (is_inside(code, effects->target) &&
            argument_code_find(code, effects->target) == SIZE_MAX)
            return false;
        code->reentered = code->reentered || effects->target == code->entry;
    }
    return true;
}

enum ch_status argument_code_init(struct argument_code *code, uint64_t entry,
                                  uint64_t size, argument_code_fn *bytes, void *context)
{
    const struct source source = { bytes, context };
    *code = (struct argument_code){ .entry = entry, .size = size };
    if (size == 0 || size > ARGUMENT_CODE_BYTES_MAX)
        return CH_ERR_UNSUPPORTED;
    enum ch_status status = decode_inside(code, &source);
    if (status != CH_OK)
        return status;
    if (!follow_all_outside(code, &source))
        return CH_ERR_UNSUPPORTED;
    sort_steps(code);
    return targets_fit(code) ? CH_OK : CH_ERR_UNSUPPORTED;
}

void argument_code_deinit(struct argument_code *code)
{
    free(code->steps);
    *code = (struct argument_code){ 0 };
}

size_t argument_code_find(const struct argument_code *code, uint64_t vaddr)
{
    const struct argument_step wanted = { .vaddr = vaddr };
    const struct argument_step *found =
        code->count != 0
            ? bsearch(&wanted, code->steps, code->count, sizeof(wanted), compare_steps)
            : NULL;
    return found != NULL ? (size_t)(found - code->steps) : SIZE_MAX;
}

size_t argument_code_next(const struct argument_code *code, size_t i)
{
    const struct argument_step *step = &code->steps[i];
    if (!goes_on(&step->effects))
        return SIZE_MAX;
    if (i + 1 < code->count &&
        code->steps[i + 1].vaddr == step->vaddr + step->effects.length)
        return i + 1;
    // Parts outside of the function may overlap.
    return argument_code_find(code, step->vaddr + step->effects.length);
}

size_t argument_code_jump(const struct argument_code *code, size_t i)
{
    const struct instruction_effects *effects = &code->steps[i].effects;
    return is_jump(effects) ? argument_code_find(code, effects->target) : SIZE_MAX;
}
