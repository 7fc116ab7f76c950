// SPDX-License-Identifier: Apache-2.0
//
// How it works: argument_code_init decodes the function with its moved parts into
// steps, sorted by address. argument_scan numbers blocks (find_blocks) and executes
// them on the states that reach them (follow_waiting), joined where paths meet, until
// none changes. A question about one step replays its block from the state at its
// start. Invariants: a fact only gets lost where states are joined, so this ends, and
// follow_waiting also has a limit; a function that could not be decoded whole has none.
#include "symbolizer/code/argument_scan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"
#include "symbolizer/code/instruction.h"

enum {
    OUTSIDE_STEPS = 1024, // instructions outside the function followed from one jump
    OUTSIDE_JUMPS = 256,
};

// source is where code is read from.
struct source {
    const struct argument_machine *machine;
    argument_code_fn *bytes;
    void *context;
};

static enum ch_status code_decode(const struct source *source, uint64_t vaddr,
                                  struct argument_step *out)
{
    size_t left;
    const uint8_t *bytes = source->bytes(source->context, vaddr, &left);
    out->vaddr = vaddr;
    return bytes != NULL
               ? source->machine->read_effects(bytes, left, vaddr, &out->effects)
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
        enum ch_status status = source->machine->read_effects(
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

// targets_fit returns true if every jump into the function leads to an instruction.
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

// argument_code_init decodes the function of size bytes at entry. CH_ERR_UNSUPPORTED:
// it cannot be decoded.
static enum ch_status argument_code_init(struct argument_code *code,
                                         const struct argument_machine *machine,
                                         uint64_t entry, uint64_t size,
                                         argument_code_fn *bytes, void *context)
{
    const struct source source = { machine, bytes, context };
    *code = (struct argument_code){ .machine = machine, .entry = entry, .size = size };
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

// argument_code_next gives the index of the instruction that follows i when it does not
// jump, SIZE_MAX: none.
static size_t argument_code_next(const struct argument_code *code, size_t i)
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

// argument_code_jump gives the index of the instruction that i jumps to, SIZE_MAX:
// none, or outside of the function.
static size_t argument_code_jump(const struct argument_code *code, size_t i)
{
    const struct instruction_effects *effects = &code->steps[i].effects;
    return is_jump(effects) ? argument_code_find(code, effects->target) : SIZE_MAX;
}

enum {
    BLOCKS_MAX = 8192,
    STEPS_MAX = 1 << 20, // instructions followed until the fixed point is reached
    CALLS_KEPT = 16,
};

#define NO_BLOCK UINT32_MAX

static void scan_begin_block(struct argument_scan *scan, size_t at)
{
    if (at != SIZE_MAX && scan->block[at] == NO_BLOCK)
        scan->block[at] = (uint32_t)scan->block_count++;
}

// find_blocks numbers the instructions that control may reach other than from the one
// before.
static void find_blocks(struct argument_scan *scan)
{
    const struct argument_code *code = &scan->code;
    for (size_t i = 0; i < code->count; i++)
        scan->block[i] = NO_BLOCK;
    scan_begin_block(scan, argument_code_find(code, code->entry));
    scan_begin_block(scan, 0);
    for (size_t i = 0; i < code->count; i++) {
        size_t next = argument_code_next(code, i);
        scan_begin_block(scan, argument_code_jump(code, i));
        if (next != i + 1)
            scan_begin_block(scan, next);
        if (next != i + 1 && i + 1 < code->count)
            scan_begin_block(scan, i + 1);
    }
}

static void arrive_at(struct argument_scan *scan, bool *waiting, size_t at,
                      const struct argument_state *state)
{
    uint32_t block = scan->block[at];
    if (!scan->reached[block]) {
        scan->states[block] = *state;
        scan->reached[block] = waiting[block] = true;
    } else if (argument_flow_meet(&scan->states[block], state)) {
        waiting[block] = true;
    }
}

// has_given_up returns true if the stack pointer is as at the entry: the frame was
// released.
static bool has_given_up(const struct argument_state *state)
{
    const struct argument_content *sp = &state->places[state->machine->sp];
    return sp->kind == ARGUMENT_OF_FRAME && sp->number == state->machine->entry_sp;
}

// meet_anywhere joins the states of the indirect jumps that may lead here. Those with a
// different stack pointer do not: compilers keep it the same at an instruction on all
// paths.
static void meet_anywhere(const struct argument_scan *scan,
                          struct argument_state *state)
{
    uint8_t sp = state->machine->sp;
    for (int i = 0; i < 2; i++) {
        const struct argument_content *one = &scan->anywhere[i].places[sp];
        const struct argument_content *other = &state->places[sp];
        bool apart = one->kind == ARGUMENT_OF_FRAME &&
                     other->kind == ARGUMENT_OF_FRAME && one->number != other->number;
        if (scan->jumps_anywhere[i] && !apart)
            (void)argument_flow_meet(state, &scan->anywhere[i]);
    }
}

// jump_anywhere joins state into that of the indirect jumps.
static void jump_anywhere(struct argument_scan *scan, bool *waiting,
                          const struct argument_state *state)
{
    int which = has_given_up(state);
    bool first = !scan->jumps_anywhere[which];
    if (first)
        scan->anywhere[which] = *state;
    scan->jumps_anywhere[which] = true;
    if (!first && !argument_flow_meet(&scan->anywhere[which], state))
        return;
    for (size_t i = 0; i < scan->block_count; i++)
        waiting[i] = scan->reached[i];
}

// follow_block executes a block on its state, and joins the result into the next one.
static size_t follow_block(struct argument_scan *scan, bool *waiting, size_t at)
{
    struct argument_state state = scan->states[scan->block[at]];
    size_t steps = 0;
    while (at != SIZE_MAX && (steps == 0 || scan->block[at] == NO_BLOCK)) {
        const struct argument_step *step = &scan->code.steps[at];
        size_t jump = argument_code_jump(&scan->code, at);
        meet_anywhere(scan, &state);
        argument_flow_step(&state, &scan->slots, &step->effects,
                           step->vaddr + step->effects.length);
        if (jump != SIZE_MAX)
            arrive_at(scan, waiting, jump, &state);
        if (step->effects.flow == INSTRUCTION_ANYWHERE)
            jump_anywhere(scan, waiting, &state);
        at = argument_code_next(&scan->code, at);
        steps++;
    }
    if (at != SIZE_MAX)
        arrive_at(scan, waiting, at, &state);
    return steps;
}

// follow_waiting follows all blocks until their states no longer change. False: that
// takes too long.
static bool follow_waiting(struct argument_scan *scan, bool *waiting, size_t *steps)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < scan->code.count; i++) {
            uint32_t block = scan->block[i];
            if (block == NO_BLOCK || !waiting[block])
                continue;
            waiting[block] = false;
            changed = true;
            *steps += follow_block(scan, waiting, i);
            if (*steps > STEPS_MAX)
                return false;
        }
    }
    return true;
}

// follow_rest follows the blocks that only an indirect jump leads to. If there are
// indirect jumps with the frame in place, those after its release are taken for tail
// calls.
static bool follow_rest(struct argument_scan *scan, bool *waiting, size_t *steps)
{
    int which = !scan->jumps_anywhere[0];
    for (size_t i = 0; i < scan->code.count && scan->jumps_anywhere[which]; i++)
        if (scan->block[i] != NO_BLOCK && !scan->reached[scan->block[i]])
            arrive_at(scan, waiting, i, &scan->anywhere[which]);
    return follow_waiting(scan, waiting, steps);
}

static bool scan_follow_all(struct argument_scan *scan)
{
    bool *waiting = calloc(scan->block_count, sizeof(*waiting));
    struct argument_state begin;
    size_t steps = 0;
    if (waiting == NULL)
        return false;
    argument_flow_begin(scan->code.machine, &begin);
    arrive_at(scan, waiting, argument_code_find(&scan->code, scan->code.entry), &begin);
    bool agreed = follow_waiting(scan, waiting, &steps);
    bool again = scan->jumps_anywhere[0] || scan->jumps_anywhere[1];
    agreed = agreed && (!again || follow_rest(scan, waiting, &steps));
    // These blocks may have indirect jumps of their own.
    agreed = agreed && (!again || follow_rest(scan, waiting, &steps));
    free(waiting);
    return agreed;
}

static void scan_look_at(struct argument_scan *scan)
{
    scan->block = calloc(scan->code.count, sizeof(scan->block[0]));
    if (scan->block == NULL)
        return;
    find_blocks(scan);
    if (scan->block_count > BLOCKS_MAX)
        return;
    scan->states = calloc(scan->block_count, sizeof(scan->states[0]));
    scan->reached = calloc(scan->block_count, sizeof(scan->reached[0]));
    if (scan->states != NULL && scan->reached != NULL)
        scan->usable = scan_follow_all(scan);
}

struct argument_scan *argument_scan_create(const struct argument_machine *machine,
                                           uint64_t entry, uint64_t size,
                                           argument_code_fn *bytes, void *context)
{
    struct argument_scan *scan = calloc(1, sizeof(*scan));
    if (scan != NULL &&
        argument_code_init(&scan->code, machine, entry, size, bytes, context) == CH_OK)
        scan_look_at(scan);
    if (scan != NULL && scan->usable)
        scan->calls = calloc(CALLS_KEPT, sizeof(scan->calls[0]));
    return scan;
}

void argument_scan_destroy(struct argument_scan *scan)
{
    if (scan == NULL)
        return;
    argument_code_deinit(&scan->code);
    free(scan->block);
    free(scan->states);
    free(scan->reached);
    free(scan->calls);
    free(scan);
}

// replay_block gives the state before instruction at. named: unknown values at the
// start of its block get identities.
static bool replay_block(const struct argument_scan *scan, size_t at, bool named,
                         struct argument_point *out)
{
    size_t first = at;
    while (scan->block[first] == NO_BLOCK)
        first--;
    if (!scan->reached[scan->block[first]])
        return false;
    out->state = scan->states[scan->block[first]];
    out->slots = scan->slots;
    meet_anywhere(scan, &out->state);
    if (named)
        argument_flow_name(&out->state, &out->slots);
    for (size_t i = first; i < at; i++) {
        const struct argument_step *step = &scan->code.steps[i];
        argument_flow_step(&out->state, &out->slots, &step->effects,
                           step->vaddr + step->effects.length);
        meet_anywhere(scan, &out->state);
    }
    return true;
}

bool argument_scan_before(const struct argument_scan *scan, uint64_t vaddr,
                          struct argument_point *out)
{
    size_t at = scan->usable ? argument_code_find(&scan->code, vaddr) : SIZE_MAX;
    if (at == SIZE_MAX || !replay_block(scan, at, false, out))
        return false;
    const struct argument_step *step = &scan->code.steps[at];
    struct argument_state done = out->state;
    if (!step->effects.repeats)
        return true;
    argument_flow_step(&done, &out->slots, &step->effects, step->vaddr);
    (void)argument_flow_meet(&out->state, &done);
    return true;
}

// find_around gives the index of the instruction that contains vaddr.
static size_t find_around(const struct argument_scan *scan, uint64_t vaddr)
{
    for (uint64_t back = 0; back < INSTRUCTION_BYTES_MAX && back <= vaddr; back++) {
        size_t at = argument_code_find(&scan->code, vaddr - back);
        if (at != SIZE_MAX)
            return back < scan->code.steps[at].effects.length ? at : SIZE_MAX;
    }
    return SIZE_MAX;
}

static bool scan_find_call(const struct argument_scan *scan, uint64_t vaddr,
                           struct argument_point *out_before,
                           struct argument_point *out_after, uint64_t *out_target)
{
    size_t at = scan->usable ? find_around(scan, vaddr) : SIZE_MAX;
    const struct argument_step *step = at != SIZE_MAX ? &scan->code.steps[at] : NULL;
    if (step == NULL || step->effects.flow != INSTRUCTION_CALLS ||
        step->vaddr + step->effects.length != vaddr + 1 ||
        !replay_block(scan, at, true, out_before))
        return false;
    *out_after = *out_before;
    argument_flow_step(&out_after->state, &out_after->slots, &step->effects,
                       step->vaddr + step->effects.length);
    *out_target = step->effects.target;
    return true;
}

const struct argument_scanned_call *
argument_scan_called(const struct argument_scan *scan, uint64_t vaddr)
{
    if (scan->calls == NULL)
        return NULL;
    struct argument_scanned_call *call =
        &scan->calls[(vaddr * 0x9e3779b97f4a7c15) >> 60];
    if (!call->known || call->vaddr != vaddr) {
        call->found =
            scan_find_call(scan, vaddr, &call->before, &call->after, &call->target);
        call->vaddr = vaddr;
        call->known = true;
    }
    return call->found ? call : NULL;
}

// is_slot_kept returns true if a slot still belongs to the function: it reads the slot
// back, its address has not escaped, and it is not below the red zone, where signal
// handlers write.
static bool is_slot_kept(const struct argument_point *point, size_t slot)
{
    const struct argument_machine *machine = point->state.machine;
    const struct argument_content *sp = &point->state.places[machine->sp];
    int64_t offset = point->slots.offset[slot];
    return point->slots.read[slot] && offset <= point->state.floor - 8 &&
           (sp->kind != ARGUMENT_OF_FRAME || offset >= sp->number - machine->red_zone);
}

bool argument_scan_holder(const struct argument_point *point,
                          const struct argument_content *content, uint32_t registers,
                          struct argument_holder *out)
{
    uint8_t bytes = 0;
    for (size_t i = 0; i < ARGUMENT_GENERAL_REGISTERS + point->slots.count; i++) {
        const struct argument_content *place = &point->state.places[i];
        bool is_slot = i >= ARGUMENT_GENERAL_REGISTERS;
        size_t slot = is_slot ? i - ARGUMENT_GENERAL_REGISTERS : 0;
        if (place->kind == ARGUMENT_UNKNOWN || place->kind != content->kind ||
            place->number != content->number || place->bytes <= bytes)
            continue;
        if (is_slot ? !is_slot_kept(point, slot) : !(registers >> i & 1))
            continue;
        *out = (struct argument_holder){ .is_slot = is_slot,
                                         .place = is_slot ? point->slots.offset[slot]
                                                          : (int64_t)i,
                                         .bytes = bytes = place->bytes };
    }
    if (bytes > content->bytes)
        out->bytes = content->bytes;
    return bytes != 0;
}

bool argument_scan_is_joined(const struct argument_scan *scan, size_t at)
{
    return at == 0 || scan->block[at] != UINT32_MAX || scan->jumps_anywhere[0] ||
           scan->jumps_anywhere[1] || argument_code_next(&scan->code, at - 1) != at;
}

// multiple_spread makes the multiples of registers whose sum is known after a step
// those before it. False: it computes no such sum.
static bool multiple_spread(const struct instruction_effects *effects,
                            uint64_t times[static ARGUMENT_GENERAL_REGISTERS])
{
    const struct instruction_memory *memory = &effects->memory;
    uint8_t to = effects->to;
    uint64_t count = times[to];
    bool adds = effects->action == INSTRUCTION_SUMS;
    bool copies =
        effects->action == INSTRUCTION_MOVES && effects->bytes == sizeof(uint64_t);
    if (adds || copies) {
        times[to] = adds ? count : 0;
        times[effects->from] += count;
        return true;
    }
    if (effects->action != INSTRUCTION_ADDRESSES || memory->displacement != 0 ||
        memory->index >= ARGUMENT_GENERAL_REGISTERS || memory->index_word ||
        memory->base == INSTRUCTION_PC)
        return false;
    times[to] = 0;
    times[memory->index] += count * memory->scale;
    if (memory->base < ARGUMENT_GENERAL_REGISTERS)
        times[memory->base] += count;
    return true;
}

// multiple_written gives which of the registers in use a step writes.
static uint32_t
multiple_written(const struct argument_scan *scan,
                 const struct instruction_effects *effects,
                 const uint64_t times[static ARGUMENT_GENERAL_REGISTERS])
{
    uint32_t used = 0;
    for (unsigned i = 0; i < ARGUMENT_GENERAL_REGISTERS; i++)
        used |= (uint32_t)(times[i] != 0) << i;
    uint32_t clobbered =
        effects->flow == INSTRUCTION_CALLS ? scan->code.machine->call_writes : 0;
    return used & (effects->written | clobbered);
}

// multiple_only gives the register in use. NO_REGISTER: there are several.
static uint8_t multiple_only(const uint64_t times[static ARGUMENT_GENERAL_REGISTERS])
{
    uint8_t only = INSTRUCTION_NO_REGISTER;
    for (unsigned i = 0; i < ARGUMENT_GENERAL_REGISTERS; i++) {
        if (times[i] != 0 && only != INSTRUCTION_NO_REGISTER)
            return INSTRUCTION_NO_REGISTER;
        if (times[i] != 0)
            only = (uint8_t)i;
    }
    return only;
}

bool argument_multiple_find(const struct argument_scan *scan, size_t *at, uint8_t *reg,
                            uint64_t *scale)
{
    uint64_t times[ARGUMENT_GENERAL_REGISTERS] = { 0 };
    times[*reg] = 1;
    for (size_t i = *at; !argument_scan_is_joined(scan, i);) {
        const struct instruction_effects *effects = &scan->code.steps[--i].effects;
        uint32_t written = multiple_written(scan, effects, times);
        if (written == 0)
            continue;
        if (effects->to >= ARGUMENT_GENERAL_REGISTERS ||
            written != UINT32_C(1) << effects->to || !multiple_spread(effects, times))
            return false;
        uint8_t only = multiple_only(times);
        if (only == INSTRUCTION_NO_REGISTER)
            continue;
        *scale *= times[only];
        *reg = only;
        *at = i;
        return true;
    }
    return false;
}
