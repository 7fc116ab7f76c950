// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_entry.h"

#include <string.h>

#include "symbolizer/arguments/argument_start.h"

bool argument_entry_symbol(const struct argument_call *call,
                           struct argument_symbol *out)
{
    static const char cold[] = ".cold";
    if (call->image == NULL || !argument_image_symbol(call->image, call->vaddr, out))
        return false;
    size_t length = strlen(out->name);
    if (length < sizeof(cold) || strcmp(out->name + length - strlen(cold), cold) != 0)
        return true;
    (void)argument_image_named_part(call->image, out->name, length - strlen(cold), out);
    return true;
}

const struct argument_scan *argument_entry_code(const struct argument_call *call)
{
    struct argument_symbol symbol;
    if (!argument_entry_symbol(call, &symbol))
        return NULL;
    const struct argument_scan *scan =
        argument_image_scan_any(call->image, symbol.vaddr, symbol.size);
    return scan != NULL && scan->usable ? scan : NULL;
}

// code is the function of a call.
struct code {
    const struct argument_call *call;
    struct argument_symbol symbol;
    const struct argument_scan *scan;
};

static bool entry_find_code(const struct argument_stack *stack, size_t index,
                            struct code *out)
{
    struct argument_call *call = &stack->calls[index];
    if (argument_machine_of(stack->arch) == NULL)
        return false;
    if (!call->scanned && argument_entry_symbol(call, &call->symbol))
        call->scan =
            argument_image_scan(call->image, call->symbol.vaddr, call->symbol.size);
    call->scanned = true;
    *out = (struct code){ .call = call, .symbol = call->symbol, .scan = call->scan };
    return out->scan != NULL;
}

// agrees returns true if the stack pointer is what the code implies at that point.
static bool agrees(const struct argument_call *call, const struct argument_point *point)
{
    uint8_t number = point->state.machine->sp;
    const struct argument_content *sp = &point->state.places[number];
    return sp->kind != ARGUMENT_OF_FRAME || call->frame.cfa == 0 ||
           call->frame.registers.value[number] ==
               call->frame.cfa + (uint64_t)sp->number;
}

// find_point gives the state at the point where a call is: in room, or one of the
// scan's. NULL: it is not known.
static const struct argument_point *find_point(const struct code *code,
                                               struct argument_point *room)
{
    const struct argument_point *point = NULL;
    if (!code->call->frame.activation) {
        const struct argument_scanned_call *called =
            argument_scan_called(code->scan, code->call->vaddr);
        point = called != NULL ? &called->after : NULL;
    } else if (argument_scan_before(code->scan, code->call->vaddr, room)) {
        point = room;
    }
    return point != NULL && agrees(code->call, point) ? point : NULL;
}

// take_holder makes a location of a place in a call's frame.
static bool take_holder(const struct argument_call *call,
                        const struct argument_holder *holder,
                        struct argument_entry *out)
{
    if (holder->is_slot && call->frame.cfa == 0)
        return false;
    out->location = (struct argument_location){ .kind = ARGUMENT_IS_VALUE };
    if (holder->is_slot) {
        out->location.kind = ARGUMENT_IN_MEMORY;
        out->location.value = call->frame.cfa + (uint64_t)holder->place;
    } else {
        out->location.value = call->frame.registers.value[holder->place];
    }
    if (out->bytes > holder->bytes)
        out->bytes = holder->bytes;
    return true;
}

// find_held_entry looks for the entry value of reg in the frame of the call itself.
static bool find_held_entry(const struct code *code, uint8_t reg,
                            struct argument_entry *out)
{
    const struct argument_frame *frame = &code->call->frame;
    const struct argument_content wanted = { ARGUMENT_OF_ENTRY, 8, reg };
    struct argument_point room;
    struct argument_holder holder;
    const struct argument_point *point = find_point(code, &room);
    if (point == NULL ||
        !argument_scan_holder(point, &wanted, (uint32_t)frame->known, &holder) ||
        !take_holder(code->call, &holder, out))
        return false;
    out->source =
        !holder.is_slot && holder.place == reg ? "abi-register" : "saved-copy";
    return true;
}

// site is a call by caller of the function that is known to have been entered.
struct site {
    struct code caller;
    const struct argument_scanned_call *call; // valid until the next one is found
};

// entry_find_site finds the call that created call index. False: it was not made by
// that caller, or not of the function that is running now (a tail call).
static bool entry_find_site(const struct argument_stack *stack, size_t index,
                            struct site *out)
{
    struct code callee;
    if (index + 1 >= stack->count || !entry_find_code(stack, index, &callee) ||
        callee.scan->code.reentered)
        return false;
    const struct argument_call *caller = &stack->calls[index + 1];
    if (caller->image != callee.call->image || caller->frame.activation ||
        !entry_find_code(stack, index + 1, &out->caller))
        return false;
    out->call = argument_scan_called(out->caller.scan, caller->vaddr);
    return out->call != NULL && out->call->target == callee.symbol.vaddr &&
           agrees(caller, &out->call->after);
}

// take_content makes a location of what is passed, if that needs no register or memory.
// False: it does.
static bool take_content(const struct argument_call *caller,
                         const struct argument_content *content,
                         struct argument_entry *out)
{
    uint64_t value = (uint64_t)content->number;
    if (content->kind == ARGUMENT_OF_ADDRESS)
        value += caller->image->bias;
    else if (content->kind == ARGUMENT_OF_FRAME && caller->frame.cfa != 0)
        value += caller->frame.cfa;
    else if (content->kind != ARGUMENT_OF_CONSTANT)
        return false;
    out->location =
        (struct argument_location){ .kind = ARGUMENT_IS_VALUE, .value = value };
    return true;
}

// entry_find_passed follows the passed value outwards, from caller to caller.
static bool entry_find_passed(const struct argument_stack *stack, size_t index,
                              uint8_t reg, struct argument_entry *out)
{
    out->source = "callsite";
    for (int i = 0; i < ARGUMENT_ENTRY_CALLS_MAX; i++) {
        struct site site;
        struct argument_holder holder;
        out->location = (struct argument_location){ .kind = ARGUMENT_IS_VALUE };
        if (argument_start_word(stack, index, reg, &out->location.value))
            return true;
        if (!entry_find_site(stack, index, &site))
            return false;
        const struct argument_call *caller = site.caller.call;
        const struct argument_content *content = &site.call->before.state.places[reg];
        if (out->bytes > content->bytes)
            out->bytes = content->bytes;
        if (take_content(caller, content, out) ||
            (argument_scan_holder(&site.call->after, content,
                                  (uint32_t)caller->frame.known, &holder) &&
             take_holder(caller, &holder, out)))
            return true;
        if (content->kind != ARGUMENT_OF_ENTRY)
            return false;
        reg = (uint8_t)content->number;
        index++;
    }
    return false;
}

// argument_registers gives the registers that pass arguments: bit N is register N.
static uint32_t argument_registers(const struct argument_stack *stack)
{
    const struct argument_machine *machine = argument_machine_of(stack->arch);
    uint32_t registers = 0;
    for (int i = 0; machine != NULL && i < machine->argument_count; i++)
        registers |= UINT32_C(1) << machine->arguments[i];
    return registers;
}

static bool is_general(const struct argument_stack *stack, uint8_t reg)
{
    const struct argument_machine *machine = argument_machine_of(stack->arch);
    return machine != NULL && reg < machine->registers;
}

// find_passed_on follows the value of reg inwards: a function that it was passed to may
// still hold it.
static bool find_passed_on(const struct argument_stack *stack, size_t index,
                           uint8_t reg, struct argument_entry *out)
{
    for (int i = 0; i < ARGUMENT_ENTRY_CALLS_MAX && index > 0; i++) {
        struct site site;
        struct code callee;
        const struct argument_content wanted = { ARGUMENT_OF_ENTRY, 8, reg };
        struct argument_holder holder;
        index--;
        if (!entry_find_site(stack, index, &site) ||
            !entry_find_code(stack, index, &callee) ||
            !argument_scan_holder(&site.call->before, &wanted,
                                  argument_registers(stack), &holder) ||
            holder.is_slot)
            return false;
        if (out->bytes > holder.bytes)
            out->bytes = holder.bytes;
        reg = (uint8_t)holder.place;
        if (find_held_entry(&callee, reg, out)) {
            out->source = "callsite";
            return true;
        }
    }
    return false;
}

enum ch_status argument_entry_find(const struct argument_stack *stack, size_t index,
                                   uint8_t reg, struct argument_entry *out)
{
    struct argument_entry found = { .bytes = 8 };
    struct code code;
    if (!is_general(stack, reg) || !entry_find_code(stack, index, &code))
        return CH_ERR_NOT_FOUND;
    bool is_found = find_held_entry(&code, reg, &found);
    found.bytes = is_found ? found.bytes : 8;
    is_found = is_found || entry_find_passed(stack, index, reg, &found);
    found.bytes = is_found ? found.bytes : 8;
    is_found = is_found || find_passed_on(stack, index, reg, &found);
    if (!is_found)
        return CH_ERR_NOT_FOUND;
    *out = found;
    return CH_OK;
}

bool argument_entry_held(const struct argument_stack *stack, size_t index, uint8_t reg,
                         uint64_t *out)
{
    struct argument_entry found = { .bytes = 8 };
    struct code code;
    uint8_t word[sizeof(*out)];
    // What calls go through may overwrite other registers than those of arguments.
    if (!is_general(stack, reg) || !(argument_registers(stack) >> reg & 1) ||
        !entry_find_code(stack, index, &code) || !find_held_entry(&code, reg, &found) ||
        found.bytes < sizeof(word) ||
        argument_location_bytes(&found.location, &code.call->frame, stack->memory, word,
                                sizeof(word)) != CH_OK)
        return false;
    memcpy(out, word, sizeof(word));
    return true;
}

// entry_step_back goes back from step *at to the one that set the register, and to the
// register that it copied or added a constant to. False: that is not known.
static bool entry_step_back(const struct argument_scan *scan, size_t *at, uint8_t *reg,
                            int64_t *added)
{
    const struct instruction_effects *effects;
    do {
        if (argument_scan_is_joined(scan, *at))
            return false;
        effects = &scan->code.steps[--*at].effects;
        if (effects->flow == INSTRUCTION_CALLS)
            return false;
    } while (!(effects->written >> *reg & 1));
    const struct instruction_memory *memory = &effects->memory;
    bool sum = effects->action == INSTRUCTION_ADDRESSES &&
               memory->index == INSTRUCTION_NO_REGISTER &&
               memory->base < ARGUMENT_GENERAL_REGISTERS;
    bool copy = effects->action == INSTRUCTION_MOVES && effects->bytes == 8;
    bool more = effects->action == INSTRUCTION_ADDS;
    *added += sum ? memory->displacement : more ? effects->constant : 0;
    *reg = sum ? memory->base : copy ? effects->from : *reg;
    return (sum || copy || more) && effects->base_added == 0;
}

bool argument_entry_made(const struct argument_call *call, uint64_t vaddr, uint8_t *reg,
                         int64_t *out_added)
{
    enum { STEPS_MAX = 8 };
    struct argument_point point;
    const struct argument_scan *scan = argument_entry_code(call);
    // Where the function jumps back to its entry, it has other values there.
    size_t at = scan != NULL && !scan->code.reentered
                    ? argument_code_find(&scan->code, vaddr)
                    : SIZE_MAX;
    *out_added = 0;
    for (int i = 0; i < STEPS_MAX && at != SIZE_MAX; i++) {
        if (!argument_scan_before(scan, scan->code.steps[at].vaddr, &point))
            return false;
        const struct argument_content *content = &point.state.places[*reg];
        if (content->kind == ARGUMENT_OF_ENTRY && content->bytes == 8) {
            *reg = (uint8_t)content->number;
            return true;
        }
        if (!entry_step_back(scan, &at, reg, out_added))
            return false;
    }
    return false;
}
