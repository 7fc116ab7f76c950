// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/code/argument_scan.h"

#include <stdlib.h>

enum {
    SP = 7,
    ENTRY_SP = -8, // from the CFA
    RED_ZONE = 128,
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

// has_given_up says whether the stack pointer is as at the entry: the frame was
// released.
static bool has_given_up(const struct argument_state *state)
{
    return state->places[SP].kind == ARGUMENT_OF_FRAME &&
           state->places[SP].number == ENTRY_SP;
}

// meet_anywhere joins the states of the indirect jumps that may lead here. Those with a
// different stack pointer do not: compilers keep it the same at an instruction on all
// paths.
static void meet_anywhere(const struct argument_scan *scan,
                          struct argument_state *state)
{
    for (int i = 0; i < 2; i++) {
        const struct argument_content *one = &scan->anywhere[i].places[SP];
        const struct argument_content *other = &state->places[SP];
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
    argument_flow_begin(&begin);
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

struct argument_scan *argument_scan_create(uint64_t entry, uint64_t size,
                                           argument_code_fn *bytes, void *context)
{
    struct argument_scan *scan = calloc(1, sizeof(*scan));
    if (scan != NULL &&
        argument_code_init(&scan->code, entry, size, bytes, context) == CH_OK)
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

static bool content_is_same(const struct argument_content *a,
                            const struct argument_content *b)
{
    return a->kind != ARGUMENT_UNKNOWN && a->kind == b->kind && a->number == b->number;
}

// is_slot_kept says whether a slot still belongs to the function: it reads the slot
// back, its address has not escaped, and it is not below the red zone, where signal
// handlers write.
static bool is_slot_kept(const struct argument_point *point, size_t slot)
{
    const struct argument_content *sp = &point->state.places[SP];
    int64_t offset = point->slots.offset[slot];
    return point->slots.read[slot] && offset <= point->state.floor - 8 &&
           (sp->kind != ARGUMENT_OF_FRAME || offset >= sp->number - RED_ZONE);
}

bool argument_scan_holder(const struct argument_point *point,
                          const struct argument_content *content, uint16_t registers,
                          struct argument_holder *out)
{
    uint8_t bytes = 0;
    for (size_t i = 0; i < ARGUMENT_GENERAL_REGISTERS + point->slots.count; i++) {
        const struct argument_content *place = &point->state.places[i];
        bool is_slot = i >= ARGUMENT_GENERAL_REGISTERS;
        size_t slot = is_slot ? i - ARGUMENT_GENERAL_REGISTERS : 0;
        if (!content_is_same(place, content) || place->bytes <= bytes)
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
