// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/code/argument_flow.h"

const struct argument_machine argument_machine_amd64 = {
    .read_effects = instruction_read_effects_x86_64,
    .registers = 16,
    .sp = 7,
    .fp = 6,
    .entry_sp = -8,
    .red_zone = 128,
    // rax, rdx, rcx, rsi, rdi, r8 to r11
    .call_writes = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 0xf << 8,
    .arguments = { 5, 4, 1, 2, 8, 9 }, // rdi, rsi, rdx, rcx, r8, r9
    .argument_count = 6,
};

const struct argument_machine argument_machine_aarch64 = {
    .read_effects = instruction_read_effects_aarch64,
    .registers = 32,
    .sp = 31,
    .fp = 29,
    .call_writes = 0x7ffff | 1 << 30, // x0 to x18, and the return address
    .arguments = { 0, 1, 2, 3, 4, 5, 6, 7 },
    .argument_count = 8,
};

const struct argument_machine *argument_machine_of(const struct unwind_arch *arch)
{
    return arch->id == UNWIND_ARCH_AMD64     ? &argument_machine_amd64
           : arch->id == UNWIND_ARCH_AARCH64 ? &argument_machine_aarch64
                                             : NULL;
}

// WHOLE_FRAME is an address below those of any frame.
#define WHOLE_FRAME (INT64_MIN / 2)

void argument_flow_begin(const struct argument_machine *machine,
                         struct argument_state *out)
{
    *out = (struct argument_state){ .machine = machine, .floor = INT64_MAX };
    for (int i = 0; i < machine->registers; i++)
        out->places[i] = (struct argument_content){ ARGUMENT_OF_ENTRY, 8, i };
    out->places[machine->sp] =
        (struct argument_content){ ARGUMENT_OF_FRAME, 8, machine->entry_sp };
}

static struct argument_content unknown_content(struct argument_state *state)
{
    if (state->names == 0)
        return (struct argument_content){ ARGUMENT_UNKNOWN, 0, 0 };
    return (struct argument_content){ ARGUMENT_OF_PLACE, 8, state->names++ };
}

void argument_flow_name(struct argument_state *state,
                        const struct argument_slots *slots)
{
    state->names = 1;
    for (size_t i = 0; i < ARGUMENT_GENERAL_REGISTERS + slots->count; i++) {
        bool trusted =
            i < ARGUMENT_GENERAL_REGISTERS ||
            slots->offset[i - ARGUMENT_GENERAL_REGISTERS] <= state->floor - 8;
        if (state->places[i].kind == ARGUMENT_UNKNOWN && trusted)
            state->places[i] = unknown_content(state);
    }
}

static struct argument_content *flow_slot_of(struct argument_state *state, size_t index)
{
    return &state->places[ARGUMENT_GENERAL_REGISTERS + index];
}

// forget_slots makes slots unknown that overlap a range of the frame.
static void forget_slots(struct argument_state *state,
                         const struct argument_slots *slots, int64_t from, int64_t to)
{
    for (size_t i = 0; i < slots->count; i++) {
        struct argument_content *slot = flow_slot_of(state, i);
        if (slots->offset[i] < to && slots->offset[i] + slot->bytes > from)
            *slot = (struct argument_content){ 0 };
    }
}

// let_out notes that an address of the frame escapes.
static void let_out(struct argument_state *state, const struct argument_slots *slots,
                    int64_t offset)
{
    if (offset >= state->floor)
        return;
    state->floor = offset;
    forget_slots(state, slots, offset, INT64_MAX);
}

static void let_out_content(struct argument_state *state,
                            const struct argument_slots *slots, uint8_t reg)
{
    if (reg < ARGUMENT_GENERAL_REGISTERS &&
        state->places[reg].kind == ARGUMENT_OF_FRAME)
        let_out(state, slots, state->places[reg].number);
}

// add_slot gives the slot at offset, a new one if needed. SIZE_MAX: there is no room.
static size_t add_slot(struct argument_slots *slots, int64_t offset)
{
    for (size_t i = 0; i < slots->count; i++)
        if (slots->offset[i] == offset)
            return i;
    if (slots->count == ARGUMENT_SLOTS_MAX)
        return SIZE_MAX;
    slots->offset[slots->count] = offset;
    slots->read[slots->count] = false;
    return slots->count++;
}

static void write_slot(struct argument_state *state, struct argument_slots *slots,
                       int64_t offset, struct argument_content content)
{
    forget_slots(state, slots, offset, offset + content.bytes);
    if (content.kind == ARGUMENT_UNKNOWN || offset > state->floor - 8)
        return;
    size_t index = add_slot(slots, offset);
    if (index != SIZE_MAX)
        *flow_slot_of(state, index) = content;
}

static struct argument_content read_slot(struct argument_state *state,
                                         struct argument_slots *slots, int64_t offset)
{
    if (offset > state->floor - 8)
        return unknown_content(state);
    size_t index = add_slot(slots, offset);
    if (index == SIZE_MAX)
        return unknown_content(state);
    slots->read[index] = true;
    struct argument_content *slot = flow_slot_of(state, index);
    if (slot->kind == ARGUMENT_UNKNOWN)
        *slot = unknown_content(state);
    return *slot;
}

// is_slot returns true if a memory operand has a fixed address in the frame.
static bool is_slot(const struct argument_state *state,
                    const struct instruction_memory *memory, int64_t *out)
{
    if (!memory->used || memory->base >= ARGUMENT_GENERAL_REGISTERS ||
        memory->index != INSTRUCTION_NO_REGISTER ||
        state->places[memory->base].kind != ARGUMENT_OF_FRAME)
        return false;
    return !__builtin_add_overflow(state->places[memory->base].number,
                                   memory->displacement, out);
}

// touch_memory applies an instruction's memory operand to the slots, except for the
// value that is stored.
static void touch_memory(struct argument_state *state, struct argument_slots *slots,
                         const struct instruction_effects *effects)
{
    const struct instruction_memory *memory = &effects->memory;
    int64_t offset;
    if (!memory->used || effects->action == INSTRUCTION_ADDRESSES)
        return;
    if (is_slot(state, memory, &offset)) {
        if (memory->written)
            forget_slots(state, slots, offset,
                         memory->bytes != 0 ? offset + memory->bytes : INT64_MAX);
        if (memory->read)
            (void)read_slot(state, slots, offset);
        return;
    }
    let_out_content(state, slots, memory->base);
    let_out_content(state, slots, memory->index);
    // A store through an unknown stack pointer may overwrite any slot.
    if (memory->written && memory->base == state->machine->sp)
        forget_slots(state, slots, INT64_MIN, INT64_MAX);
}

static struct argument_content narrowed_content(struct argument_content content,
                                                uint8_t bytes)
{
    if (content.bytes > bytes)
        content.bytes = bytes;
    return content;
}

static void flow_set(struct argument_state *state, uint8_t reg,
                     struct argument_content content)
{
    if (reg < ARGUMENT_GENERAL_REGISTERS)
        state->places[reg] = content;
}

static void flow_through_move(struct argument_state *state,
                              struct argument_slots *slots,
                              const struct instruction_effects *effects)
{
    const struct argument_machine *machine = state->machine;
    bool of_frame = effects->bytes == 8 &&
                    ((effects->from == machine->sp && effects->to == machine->fp) ||
                     (effects->from == machine->fp && effects->to == machine->sp));
    if (!of_frame)
        let_out_content(state, slots, effects->from);
    flow_set(state, effects->to,
             narrowed_content(state->places[effects->from], effects->bytes));
}

static void flow_add(struct argument_state *state, const struct argument_slots *slots,
                     uint8_t to, int64_t constant)
{
    struct argument_content content = state->places[to];
    bool tracked =
        content.kind == ARGUMENT_OF_FRAME || content.kind == ARGUMENT_OF_ADDRESS;
    if (!tracked || __builtin_add_overflow(content.number, constant, &content.number)) {
        let_out_content(state, slots, to);
        content = unknown_content(state);
    }
    if (to != state->machine->sp && content.kind == ARGUMENT_OF_FRAME) {
        let_out_content(state, slots, to);
        let_out(state, slots, content.number);
    }
    flow_set(state, to, content);
}

// points_to_record returns true if a register becomes the frame pointer: it is set to
// where the caller's is saved.
static bool points_to_record(struct argument_state *state,
                             const struct argument_slots *slots, uint8_t to,
                             int64_t offset)
{
    for (size_t i = 0; i < slots->count; i++) {
        const struct argument_content *saved = flow_slot_of(state, i);
        if (slots->offset[i] == offset && to == state->machine->fp)
            return saved->kind == ARGUMENT_OF_ENTRY && saved->number == to;
    }
    return false;
}

static void take_address(struct argument_state *state, struct argument_slots *slots,
                         const struct instruction_effects *effects, uint64_t next)
{
    const struct instruction_memory *memory = &effects->memory;
    struct argument_content content = { ARGUMENT_OF_FRAME, 8, 0 };
    if (is_slot(state, memory, &content.number)) {
        if (effects->to != state->machine->sp &&
            !points_to_record(state, slots, effects->to, content.number))
            let_out(state, slots, content.number);
    } else if (memory->base == INSTRUCTION_PC) {
        content.kind = ARGUMENT_OF_ADDRESS;
        content.number = (int64_t)(next + (uint64_t)memory->displacement);
    } else {
        let_out_content(state, slots, memory->base);
        let_out_content(state, slots, memory->index);
        if (memory->base == state->machine->sp) // somewhere in the frame
            let_out(state, slots, WHOLE_FRAME);
        content = unknown_content(state);
    }
    flow_set(state, effects->to, content);
}

static void flow_store(struct argument_state *state, struct argument_slots *slots,
                       const struct instruction_effects *effects)
{
    const uint8_t from[] = { effects->from, effects->second };
    const struct argument_content zero = { ARGUMENT_OF_CONSTANT, 8, 0 };
    for (int i = 0; i <= effects->is_pair; i++) {
        int64_t offset;
        let_out_content(state, slots, from[i]);
        struct argument_content content =
            from[i] < ARGUMENT_GENERAL_REGISTERS ? state->places[from[i]] : zero;
        if (is_slot(state, &effects->memory, &offset))
            write_slot(state, slots, offset + i * effects->bytes,
                       narrowed_content(content, effects->bytes));
    }
}

static void flow_load(struct argument_state *state, struct argument_slots *slots,
                      const struct instruction_effects *effects)
{
    const uint8_t to[] = { effects->to, effects->second };
    int64_t offset;
    // The first register may be the base.
    bool slot = is_slot(state, &effects->memory, &offset);
    for (int i = 0; i <= effects->is_pair; i++) {
        struct argument_content content =
            slot ? read_slot(state, slots, offset + i * effects->bytes)
                 : unknown_content(state);
        flow_set(state, to[i], narrowed_content(content, effects->bytes));
    }
}

// flow_push follows a push. A pushed caller-saved register is an outgoing argument, and
// the callee owns the slot; so its content is not tracked.
static void flow_push(struct argument_state *state, struct argument_slots *slots,
                      const struct instruction_effects *effects)
{
    struct argument_content *sp = &state->places[state->machine->sp];
    struct argument_content pushed = { 0 };
    let_out_content(state, slots, effects->from);
    if (effects->from < ARGUMENT_GENERAL_REGISTERS &&
        !(state->machine->call_writes >> effects->from & 1))
        pushed = state->places[effects->from];
    if (sp->kind != ARGUMENT_OF_FRAME ||
        __builtin_sub_overflow(sp->number, 8, &sp->number)) {
        *sp = unknown_content(state);
        return;
    }
    forget_slots(state, slots, sp->number, sp->number + 8);
    write_slot(state, slots, sp->number, pushed);
}

static void flow_pop(struct argument_state *state, struct argument_slots *slots,
                     uint8_t to)
{
    struct argument_content sp = state->places[state->machine->sp];
    struct argument_content content = sp.kind == ARGUMENT_OF_FRAME
                                          ? read_slot(state, slots, sp.number)
                                          : unknown_content(state);
    if (sp.kind != ARGUMENT_OF_FRAME ||
        __builtin_add_overflow(sp.number, 8, &sp.number))
        sp = unknown_content(state);
    state->places[state->machine->sp] = sp;
    flow_set(state, to, content);
}

// do_other makes the results unknown. Operands that are addresses of the frame escape,
// because a result may be derived from them.
static void do_other(struct argument_state *state, struct argument_slots *slots,
                     const struct instruction_effects *effects)
{
    uint8_t sp = state->machine->sp;
    for (int i = 0; i < ARGUMENT_GENERAL_REGISTERS; i++)
        if (effects->named >> i & 1 && !(i == sp && effects->written >> sp & 1))
            let_out_content(state, slots, (uint8_t)i);
    for (int i = 0; i < ARGUMENT_GENERAL_REGISTERS; i++)
        if (effects->written >> i & 1)
            state->places[i] = unknown_content(state);
}

// flow_over_call makes the caller-saved registers unknown, and all slots below the
// stack pointer, as they belong to the callee.
static void flow_over_call(struct argument_state *state,
                           const struct argument_slots *slots)
{
    for (int i = 0; i < ARGUMENT_GENERAL_REGISTERS; i++) {
        if (!(state->machine->call_writes >> i & 1))
            continue;
        let_out_content(state, slots, (uint8_t)i);
        state->places[i] = unknown_content(state);
    }
    const struct argument_content *sp = &state->places[state->machine->sp];
    if (sp->kind == ARGUMENT_OF_FRAME)
        forget_slots(state, slots, INT64_MIN, sp->number);
}

static void flow_act(struct argument_state *state, struct argument_slots *slots,
                     const struct instruction_effects *effects, uint64_t next)
{
    switch (effects->action) {
    case INSTRUCTION_MOVES:
        flow_through_move(state, slots, effects);
        return;
    case INSTRUCTION_SETS:
        flow_set(
            state, effects->to,
            (struct argument_content){ ARGUMENT_OF_CONSTANT, 8, effects->constant });
        return;
    case INSTRUCTION_ADDS:
        flow_add(state, slots, effects->to, effects->constant);
        return;
    case INSTRUCTION_ADDRESSES:
        take_address(state, slots, effects, next);
        return;
    case INSTRUCTION_LOADS:
        flow_load(state, slots, effects);
        return;
    case INSTRUCTION_STORES:
        flow_store(state, slots, effects);
        return;
    case INSTRUCTION_PUSHES:
        flow_push(state, slots, effects);
        return;
    case INSTRUCTION_POPS:
        flow_pop(state, slots, effects->to);
        return;
    case INSTRUCTION_LEAVES:
        state->places[state->machine->sp] = state->places[state->machine->fp];
        flow_pop(state, slots, state->machine->fp);
        return;
    case INSTRUCTION_SUMS:
    case INSTRUCTION_DOES_OTHER:
        do_other(state, slots, effects);
        return;
    }
}

void argument_flow_step(struct argument_state *state, struct argument_slots *slots,
                        const struct instruction_effects *effects, uint64_t next)
{
    const struct argument_content base = effects->base_added != 0
                                             ? state->places[effects->memory.base]
                                             : (struct argument_content){ 0 };
    touch_memory(state, slots, effects);
    if (effects->flow == INSTRUCTION_CALLS) {
        flow_over_call(state, slots);
        return;
    }
    flow_act(state, slots, effects, next);
    if (effects->base_added != 0) {
        state->places[effects->memory.base] = base;
        flow_add(state, slots, effects->memory.base, effects->base_added);
    }
}

// meet_floors gives the lower floor. If the frame pointer is an address of the frame on
// one path only, the join no longer tracks it, so that address escapes.
static int64_t meet_floors(const struct argument_state *a,
                           const struct argument_state *b)
{
    const struct argument_content *one = &a->places[a->machine->fp];
    const struct argument_content *other = &b->places[b->machine->fp];
    int64_t floor = a->floor < b->floor ? a->floor : b->floor;
    if (one->kind == other->kind && one->number == other->number)
        return floor;
    if (one->kind == ARGUMENT_OF_FRAME && one->number < floor)
        floor = one->number;
    if (other->kind == ARGUMENT_OF_FRAME && other->number < floor)
        floor = other->number;
    return floor;
}

bool argument_flow_meet(struct argument_state *state, const struct argument_state *from)
{
    int64_t floor = meet_floors(state, from);
    bool less = floor < state->floor;
    state->floor = floor;
    for (size_t i = 0; i < ARGUMENT_PLACES; i++) {
        struct argument_content *a = &state->places[i];
        const struct argument_content *b = &from->places[i];
        bool same = a->kind == b->kind && a->number == b->number;
        if (a->kind == ARGUMENT_UNKNOWN || (same && a->bytes <= b->bytes))
            continue;
        less = true;
        if (same)
            a->bytes = b->bytes;
        else
            *a = (struct argument_content){ 0 };
    }
    return less;
}
