// SPDX-License-Identifier: Apache-2.0
//
// How it works: trace_back goes from the step before which the value is looked for to
// the step that set the register (trace_definition), notes loads as links and what was
// added, and goes on with the register that it read, until a trace_end_* is reached.
// The links are then added to the name, the last noted first (trace_follow_all).
// Invariants: no step is crossed that a jump leads to; rounds and links have limits.
#include "symbolizer/fault/argument_trace.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "report/value/report.h"
#include "symbolizer/arguments/argument_entry.h"
#include "symbolizer/code/argument_scan.h"
#include "symbolizer/fault/argument_path.h"
#include "symbolizer/types/type_table.h"

enum {
    LINKS_MAX = 8, // loads and copies that are followed
    WORD_BYTES = 8,
    HALF_BYTES = 4,
    RETURNED = 0, // rax, x0
};

// link is a load through a pointer, of bytes at the pointer plus offset.
struct link {
    int64_t offset;
    uint8_t bytes;
};

// tracing is one value being followed backwards in the code of one function.
struct tracing {
    struct argument_trace *trace;
    const struct argument_call *call;
    const struct argument_scan *scan;
    size_t now; // the step that the call of the stack is at
    size_t at;  // the step before which the value is looked for
    uint8_t reg;
    uint8_t bytes;
    int64_t added; // to the register since
    bool offset;   // it may stay added to what is named
    struct link links[LINKS_MAX];
    size_t count;
    size_t sum; // the step at which the address of the last link is the sum of two
                // registers; SIZE_MAX: it is none
    struct argument_named *out;
};

// trace_now gives the step that a call of the stack is at: the next instruction, or the
// call that has not returned. SIZE_MAX: none.
static size_t trace_now(const struct argument_scan *scan,
                        const struct argument_call *call)
{
    const struct argument_code *code = &scan->code;
    if (call->frame.activation)
        return argument_code_find(code, call->vaddr);
    for (uint64_t back = 0; back < INSTRUCTION_BYTES_MAX && back <= call->vaddr;
         back++) {
        size_t at = argument_code_find(code, call->vaddr - back);
        if (at != SIZE_MAX)
            return back + 1 == code->steps[at].effects.length ? at : SIZE_MAX;
    }
    return SIZE_MAX;
}

// trace_is_kept returns true if the register still has its value before step from.
static bool trace_is_kept(const struct tracing *t, uint8_t reg, size_t from)
{
    const struct argument_frame *frame = &t->call->frame;
    if (!argument_frame_knows(frame, reg))
        return false;
    for (size_t i = from; i < t->now; i++)
        if (t->scan->code.steps[i].effects.written >> reg & 1)
            return false;
    return true;
}

// trace_writes returns true if a step may write the register that is followed.
static bool trace_writes(const struct tracing *t, const struct argument_step *step)
{
    uint8_t reg = t->reg;
    bool clobbers = step->effects.flow == INSTRUCTION_CALLS &&
                    t->scan->code.machine->call_writes >> reg & 1;
    return clobbers || step->effects.written >> reg & 1;
}

// trace_definition finds the step that set the register. SIZE_MAX: it is not known.
static size_t trace_definition(const struct tracing *t)
{
    size_t at = t->at;
    while (!argument_scan_is_joined(t->scan, at)) {
        at--;
        if (trace_writes(t, &t->scan->code.steps[at]))
            return at;
    }
    return SIZE_MAX;
}

static bool trace_read_scope(struct tracing *t, size_t step)
{
    return argument_scope_read(&t->trace->scope, t->trace->stack,
                               (size_t)(t->call - t->trace->stack->calls),
                               t->scan->code.steps[step].vaddr, t->trace->frames);
}

// trace_read reads a value of at most a word.
static bool trace_read(const struct tracing *t, uint64_t address, uint64_t bytes,
                       uint64_t *out)
{
    uint64_t word = 0;
    if (bytes > sizeof(word) ||
        memory_read(t->trace->stack->memory, address, &word, (size_t)bytes) != CH_OK)
        return false;
    *out = word; // targets are little-endian
    return true;
}

// trace_begin_name begins the name with a variable, of which the value has bytes at
// offset; no bytes: it is the variable itself that is named.
static bool trace_begin_name(struct tracing *t,
                             const struct argument_variable *variable, uint64_t offset,
                             uint64_t bytes)
{
    struct argument_named *out = t->out;
    const struct type_table *table = &t->call->image->types.table;
    text_clear(&out->expression);
    text_append_string(&out->expression, variable->name);
    out->call = t->call;
    out->frame = variable->frame;
    out->role = variable->role;
    out->type = variable->type;
    enum type_kind kind = table->types[type_strip(table, variable->type)].kind;
    bool whole = offset == 0 && bytes == variable->size && kind != TYPE_STRUCT;
    out->variable = !variable->is_part && (whole || bytes == 0);
    struct argument_part part = { variable->type, variable->offset + offset, bytes,
                                  kind == TYPE_UNION };
    if (!out->variable && !argument_path_append(table, &part, ".", &out->expression))
        return false;
    out->type = part.type;
    out->in_union = part.in_union;
    return true;
}

// trace_follow adds a load to the name: through a pointer to a structure to a member,
// through one to a scalar to an element.
static bool trace_follow(struct tracing *t, const struct link *link)
{
    struct argument_named *out = t->out;
    const struct type_table *table = &t->call->image->types.table;
    const struct type *pointer = &table->types[type_strip(table, out->type)];
    uint32_t target = type_strip(table, pointer->target);
    enum type_kind kind = table->types[target].kind;
    uint64_t size;
    if (pointer->kind != TYPE_POINTER || type_size(table, target, &size) != CH_OK ||
        size == 0)
        return false;
    out->from = out->value + (uint64_t)link->offset;
    out->has_value =
        out->has_value && trace_read(t, out->from, link->bytes, &out->value);
    out->loaded = out->has_value;
    out->variable = false;
    struct argument_part part = { target, (uint64_t)link->offset, link->bytes, false };
    bool has_members = kind == TYPE_STRUCT || kind == TYPE_UNION;
    if (has_members &&
        (link->offset < 0 ||
         !argument_path_append(table, &part, pointer->reference ? "." : "->",
                               &out->expression)))
        return false;
    out->type = part.type;
    out->in_union = part.in_union;
    if (has_members)
        return true;
    if (size != link->bytes || link->offset % (int64_t)size != 0)
        return false;
    if (!pointer->reference)
        text_appendf(&out->expression, "[%lld]",
                     (long long)(link->offset / (int64_t)size));
    return !pointer->reference || link->offset == 0;
}

static bool trace_follow_all(struct tracing *t)
{
    argument_path_as_written(&t->out->expression);
    while (t->count > 0) {
        if (!trace_follow(t, &t->links[--t->count]))
            return false;
        argument_path_as_written(&t->out->expression);
    }
    return text_ok(&t->out->expression);
}

// trace_fold makes what was added to a pointer part of the load through it, or of the
// result.
static void trace_fold(struct tracing *t)
{
    if (t->count != 0)
        t->links[t->count - 1].offset += t->added;
    else if (t->offset)
        t->out->added += t->added;
    else
        return;
    t->added = 0;
}

// trace_address computes the address of a memory operand of step, if that is known now.
static bool trace_address(const struct tracing *t, size_t step,
                          const struct instruction_memory *memory, uint64_t *out)
{
    const struct argument_step *at = &t->scan->code.steps[step];
    if (memory->index != INSTRUCTION_NO_REGISTER)
        return false;
    *out = (uint64_t)memory->displacement;
    if (memory->base == INSTRUCTION_PC)
        *out += at->vaddr + at->effects.length + t->call->image->bias;
    else if (memory->base == INSTRUCTION_NO_REGISTER)
        *out += 0;
    else if (trace_is_kept(t, memory->base, step))
        *out += t->call->frame.registers.value[memory->base];
    else
        return false;
    return true;
}

// trace_source gives where a register is loaded from: of a pair, the second is after
// the first.
static struct instruction_memory trace_source(const struct instruction_effects *effects,
                                              uint8_t reg)
{
    struct instruction_memory memory = effects->memory;
    memory.bytes = effects->bytes;
    if (effects->is_pair && reg == effects->second)
        memory.displacement += effects->bytes;
    return memory;
}

// trace_action gives how a step gives the register its value. The base register of an
// access that changes it has another one than what is loaded.
static enum instruction_action trace_action(const struct instruction_effects *effects,
                                            uint8_t reg)
{
    bool is_base = effects->base_added != 0 && effects->memory.base == reg;
    return is_base || effects->flow == INSTRUCTION_CALLS ? INSTRUCTION_DOES_OTHER
                                                         : effects->action;
}

// trace_value_at gives the value that step puts into its register, if that needs no
// other step.
static bool trace_value_at(const struct tracing *t, size_t step, uint64_t *out)
{
    const struct instruction_effects *effects = &t->scan->code.steps[step].effects;
    const struct instruction_memory memory = trace_source(effects, t->reg);
    uint64_t address;
    *out = (uint64_t)effects->constant;
    switch (trace_action(effects, t->reg)) {
    case INSTRUCTION_SETS:
        return true;
    case INSTRUCTION_MOVES:
        if (effects->bytes != WORD_BYTES || !trace_is_kept(t, effects->from, step))
            return false;
        *out = t->call->frame.registers.value[effects->from];
        return true;
    case INSTRUCTION_ADDRESSES:
        return trace_address(t, step, &effects->memory, out);
    case INSTRUCTION_LOADS:
        return effects->bytes == WORD_BYTES &&
               trace_address(t, step, &memory, &address) &&
               trace_read(t, address, WORD_BYTES, out);
    default:
        return false;
    }
}

// trace_entered_with gives the value of the register before t->at, if that is the one
// with which the function was entered.
static bool trace_entered_with(const struct tracing *t, uint64_t *out)
{
    const struct argument_stack *stack = t->trace->stack;
    struct argument_entry entry;
    uint8_t word[WORD_BYTES];
    for (size_t at = t->at; at > 0; at--)
        if (argument_scan_is_joined(t->scan, at) ||
            trace_writes(t, &t->scan->code.steps[at - 1]))
            return false;
    if (t->scan->code.reentered ||
        argument_entry_find(stack, (size_t)(t->call - stack->calls), t->reg, &entry) !=
            CH_OK ||
        entry.bytes < WORD_BYTES ||
        argument_location_bytes(&entry.location, &t->call->frame, stack->memory, word,
                                WORD_BYTES) != CH_OK)
        return false;
    memcpy(out, word, WORD_BYTES);
    return true;
}

// trace_end_in_register ends at a variable that the debug information has in the
// register before step.
static bool trace_end_in_register(struct tracing *t, size_t step, bool *out_named)
{
    trace_fold(t);
    if (t->added != 0 || !trace_read_scope(t, step))
        return false;
    const struct argument_variable *variable =
        argument_scope_in_register(&t->trace->scope, t->reg);
    if (variable == NULL || variable->size > WORD_BYTES)
        return false;
    // An inlined function of a library has its own name for the program's variable.
    if (report_flag(json_array_get(t->trace->frames, variable->frame), "system") &&
        !report_flag(t->call->from, "system") && trace_definition(t) != SIZE_MAX)
        return false;
    t->out->has_value = trace_is_kept(t, t->reg, step);
    if (t->out->has_value)
        t->out->value = t->call->frame.registers.value[t->reg];
    if (variable->size == WORD_BYTES && !t->out->has_value) {
        // The register is in use for another value by now.
        size_t from = trace_definition(t);
        t->out->has_value = from != SIZE_MAX ? trace_value_at(t, from, &t->out->value)
                                             : trace_entered_with(t, &t->out->value);
    }
    *out_named =
        trace_begin_name(t, variable, 0, variable->size) && trace_follow_all(t);
    return true;
}

// trace_end_in_memory ends at a variable that has the bytes at address.
static bool trace_end_in_memory(struct tracing *t, size_t step, uint64_t address,
                                uint8_t bytes, bool *out_named)
{
    if (!trace_read_scope(t, step))
        return false;
    const struct argument_variable *variable =
        argument_scope_at(&t->trace->scope, address, bytes);
    if (variable == NULL)
        return false;
    t->out->has_value = trace_read(t, address, bytes, &t->out->value);
    *out_named = trace_begin_name(t, variable, address - variable->place, bytes) &&
                 trace_follow_all(t);
    return true;
}

// trace_end_at_address ends at the variable whose address the register is.
static bool trace_end_at_address(struct tracing *t, size_t step, uint64_t address)
{
    bool named = false;
    if (t->count != 0) {
        trace_fold(t);
        const struct link last = t->links[--t->count];
        return trace_end_in_memory(t, step, address + (uint64_t)last.offset, last.bytes,
                                   &named) &&
               named;
    }
    if (!trace_read_scope(t, step))
        return false;
    const struct argument_variable *variable =
        argument_scope_at(&t->trace->scope, address, 1);
    if (variable == NULL || variable->is_part || t->added != 0 ||
        (variable->place != address && !t->offset) ||
        !trace_begin_name(t, variable, 0, 0))
        return false;
    t->out->added += (int64_t)(address - variable->place);
    t->out->is_address = true;
    t->out->has_value = true;
    t->out->value = variable->place;
    return text_ok(&t->out->expression);
}

// trace_load follows the load of step. True: it ended.
static bool trace_load(struct tracing *t, size_t step,
                       const struct instruction_memory *memory, bool *out_named)
{
    uint64_t address;
    trace_fold(t);
    if (t->added != 0)
        return true; // a sum, and not what was loaded
    bool known = trace_address(t, step, memory, &address);
    if (known && trace_end_in_memory(t, step, address, memory->bytes, out_named))
        return true;
    // The address of a variable that the caller made is in no variable itself.
    size_t count = t->count;
    *out_named = known && count != 0 && memory->bytes == WORD_BYTES &&
                 trace_read(t, address, WORD_BYTES, &address) &&
                 trace_end_at_address(t, step, address);
    if (*out_named)
        return true;
    t->count = count;
    t->out->has_value = t->out->loaded = false;
    if (memory->base >= ARGUMENT_GENERAL_REGISTERS || t->count == LINKS_MAX)
        return true;
    t->links[t->count++] =
        (struct link){ .offset = memory->displacement, .bytes = memory->bytes };
    if (memory->index != INSTRUCTION_NO_REGISTER) {
        t->sum = step;
        return true;
    }
    t->reg = memory->base;
    t->bytes = WORD_BYTES;
    t->at = step;
    return false;
}

// trace_multiple follows a register that is a multiple of another one.
static bool trace_multiple(struct tracing *t)
{
    return t->count == 0 && t->added == 0 &&
           argument_multiple_find(t->scan, &t->at, &t->reg, &t->out->scale);
}

// trace_through_address follows an address that step computes. True: it ended.
static bool trace_through_address(struct tracing *t, size_t step, bool *out_named)
{
    const struct instruction_memory *memory = &t->scan->code.steps[step].effects.memory;
    uint64_t address;
    if (memory->index < ARGUMENT_GENERAL_REGISTERS && trace_multiple(t))
        return false;
    if (memory->index < ARGUMENT_GENERAL_REGISTERS &&
        memory->base < ARGUMENT_GENERAL_REGISTERS && memory->displacement == 0) {
        trace_fold(t);
        t->sum = step;
        return true;
    }
    bool known = trace_address(t, step, memory, &address);
    // AArch64 adds the rest of an address to that of its page.
    bool is_whole = t->offset && t->trace->stack->arch->id != UNWIND_ARCH_AARCH64;
    if (known && memory->base == INSTRUCTION_PC && t->count == 0 && !is_whole) {
        address += (uint64_t)(t->added + t->out->added);
        t->added = t->out->added = 0;
    }
    size_t count = t->count;
    *out_named = known && trace_end_at_address(t, step, address);
    if (*out_named || memory->index != INSTRUCTION_NO_REGISTER ||
        memory->base >= ARGUMENT_GENERAL_REGISTERS)
        return true;
    t->count = count;
    t->out->has_value = t->out->loaded = false;
    // A constant is added to the value of another register.
    t->added += memory->displacement;
    t->reg = memory->base;
    t->at = step;
    return false;
}

// trace_step_back follows the instruction that set the register. True: it ended.
static bool trace_step_back(struct tracing *t, size_t step, bool *out_named)
{
    const struct argument_step *from = &t->scan->code.steps[step];
    const struct instruction_effects *effects = &from->effects;
    const struct instruction_memory memory = trace_source(effects, t->reg);
    if (effects->base_added != 0 && effects->memory.base == t->reg) {
        t->added += effects->base_added;
        t->at = step;
        return false;
    }
    switch (trace_action(effects, t->reg)) {
    case INSTRUCTION_MOVES:
        t->reg = effects->from;
        t->bytes = t->bytes < effects->bytes ? t->bytes : effects->bytes;
        t->at = step;
        return false;
    case INSTRUCTION_ADDS:
        t->added += effects->constant;
        t->at = step;
        return false;
    case INSTRUCTION_SUMS:
        if (trace_multiple(t))
            return false;
        trace_fold(t);
        t->sum = step;
        return true;
    case INSTRUCTION_LOADS:
        return trace_load(t, step, &memory, out_named);
    case INSTRUCTION_ADDRESSES:
        return trace_through_address(t, step, out_named);
    default:
        return true;
    }
}

// trace_end_at_call ends at a call that returned the value, or the address of the
// pointer that it was loaded from.
static bool trace_end_at_call(struct tracing *t, size_t step)
{
    const struct instruction_effects *effects = &t->scan->code.steps[step].effects;
    struct argument_named *out = t->out;
    if (effects->flow != INSTRUCTION_CALLS || effects->target == 0 ||
        t->reg != RETURNED || t->count > 1 || t->out->scale != 1)
        return false;
    t->trace->met_returned = true;
    if (!t->trace->takes_returned)
        return false;
    trace_fold(t);
    bool leads = t->count == 1;
    if (t->added != 0 ||
        (leads && (t->links[0].offset != 0 || t->links[0].bytes != WORD_BYTES)))
        return false;
    text_clear(&out->expression);
    out->call = t->call;
    out->frame = t->call->index;
    while (out->frame != 0 &&
           report_flag(json_array_get(t->trace->frames, out->frame - 1), "inline"))
        out->frame--;
    out->role = leads ? ARGUMENT_LED_TO : ARGUMENT_RETURNED;
    return argument_returned_name(t->call->image, effects->target, &out->expression);
}

// trace_accessor follows a call of ->, * or get() of a pointer that is an object, or of
// [], as the load of the word that the object begins with: memory has what it returned,
// or it does not agree. False: the step is none.
static bool trace_accessor(struct tracing *t, size_t step)
{
    const struct instruction_effects *effects = &t->scan->code.steps[step].effects;
    if (t->trace->takes_returned || effects->flow != INSTRUCTION_CALLS ||
        effects->target == 0 || t->reg != RETURNED || t->count == LINKS_MAX ||
        !argument_is_accessor(t->call->image, effects->target, t->count == 0,
                              &t->out->accessed))
        return false;
    trace_fold(t);
    if (t->added != 0)
        return false;
    t->links[t->count++] = (struct link){ .offset = 0, .bytes = WORD_BYTES };
    t->reg = t->scan->code.machine->arguments[0];
    t->bytes = WORD_BYTES;
    t->at = step;
    return true;
}

// trace_back follows the value from t->at.
static bool trace_back(struct tracing *t)
{
    bool named = false;
    for (int i = 0; i < 2 * LINKS_MAX; i++) {
        if (trace_end_in_register(t, t->at, &named))
            return named;
        size_t step = trace_definition(t);
        if (step == SIZE_MAX)
            return false;
        if (step + 1 != t->at && trace_end_in_register(t, step + 1, &named))
            return named;
        if (trace_end_at_call(t, step))
            return true;
        if (trace_accessor(t, step))
            continue;
        if (trace_step_back(t, step, &named))
            return named;
    }
    return false;
}

static bool trace_begin(struct argument_trace *trace, size_t index, uint8_t reg,
                        struct argument_named *out, struct tracing *t)
{
    const struct argument_call *call = &trace->stack->calls[index];
    *t = (struct tracing){ .trace = trace,
                           .call = call,
                           .out = out,
                           .reg = reg,
                           .bytes = WORD_BYTES,
                           .sum = SIZE_MAX };
    *out = (struct argument_named){ .expression = out->expression,
                                    .scale = 1,
                                    .role = ARGUMENT_LOCAL };
    if (argument_machine_of(trace->stack->arch) == NULL || call->image == NULL ||
        reg >= ARGUMENT_GENERAL_REGISTERS)
        return false;
    t->scan = argument_entry_code(call);
    t->now = t->at = t->scan != NULL ? trace_now(t->scan, call) : SIZE_MAX;
    return t->now != SIZE_MAX;
}

// trace_begin_part begins with a register that the instruction at step uses.
static bool trace_begin_part(const struct tracing *whole, size_t step, uint8_t reg,
                             struct argument_named *out, struct tracing *t)
{
    size_t index = (size_t)(whole->call - whole->trace->stack->calls);
    bool begun = trace_begin(whole->trace, index, reg, out, t);
    t->at = step;
    return begun;
}

// trace_part names a part of an element's address; constants may have been added.
static bool trace_part(const struct tracing *whole, size_t step, uint8_t reg,
                       struct argument_named *out)
{
    struct tracing t;
    bool begun = trace_begin_part(whole, step, reg, out, &t);
    t.offset = true;
    return begun && trace_back(&t) && !argument_is_returned(out);
}

// trace_name_element names the element of an array that the last link loads, or a
// member of it.
static bool trace_name_element(struct tracing *t, const struct argument_named *array,
                               const struct argument_named *index)
{
    struct argument_named *out = t->out;
    const struct type_table *table = &t->call->image->types.table;
    struct link link = t->links[t->count - 1];
    link.offset += array->added;
    struct argument_part part = { .offset = (uint64_t)link.offset,
                                  .bytes = link.bytes };
    int64_t number = 0;
    if (array->call != index->call || array->frame != index->frame ||
        index->is_address || index->type == 0 || index->added != 0 ||
        table->types[type_strip(table, index->type)].kind != TYPE_INTEGER ||
        !argument_named_element(array, index->scale, &part.type) || link.offset < 0)
        return false;
    bool known = array->has_value && argument_named_number(index, &number);
    uint64_t size; // code that subtracts may address what is before the array
    if (array->is_address && array->added != 0 &&
        (!known || type_size(table, array->type, &size) != CH_OK ||
         (uint64_t)number >= size / index->scale))
        return false;
    t->count--;
    text_clear(&out->expression);
    text_appendf(&out->expression, "%s[%s]", array->expression.bytes,
                 index->expression.bytes);
    bool is_whole = link.offset == 0 && link.bytes == index->scale &&
                    table->types[part.type].kind != TYPE_STRUCT;
    if (!is_whole && !argument_path_append(table, &part, ".", &out->expression))
        return false;
    out->call = array->call;
    out->frame = array->frame;
    out->type = part.type;
    out->in_union = part.in_union;
    out->variable = false;
    out->scale = 1;
    out->from = array->value + (uint64_t)number * index->scale + (uint64_t)link.offset;
    out->has_value = known && trace_read(t, out->from, link.bytes, &out->value);
    out->loaded = out->has_value;
    return trace_follow_all(t);
}

// trace_element names the element of an array, loaded from a sum of two registers.
static bool trace_element(struct tracing *t)
{
    struct argument_named parts[2] = { 0 };
    if (t->sum == SIZE_MAX || t->count == 0 || t->added != 0)
        return false;
    const struct instruction_effects *effects = &t->scan->code.steps[t->sum].effects;
    bool sums = effects->action == INSTRUCTION_SUMS;
    bool named =
        trace_part(t, t->sum, sums ? effects->to : effects->memory.base, &parts[0]) &&
        trace_part(t, t->sum, sums ? effects->from : effects->memory.index, &parts[1]);
    if (!sums)
        parts[1].scale *= effects->memory.scale;
    named = named && (trace_name_element(t, &parts[0], &parts[1]) ||
                      trace_name_element(t, &parts[1], &parts[0]));
    argument_named_deinit(&parts[0]);
    argument_named_deinit(&parts[1]);
    return named;
}

// trace_summand names a register that the instruction at step adds to another one.
static bool trace_summand(const struct tracing *whole, size_t step, uint8_t reg,
                          struct argument_named *out)
{
    struct tracing t;
    bool named = trace_begin_part(whole, step, reg, out, &t) &&
                 (trace_back(&t) || trace_element(&t)) && !argument_is_returned(out);
    out->has_value = out->has_value && named;
    return named;
}

bool argument_trace_leads(const struct argument_trace *trace, uint64_t pointer)
{
    uint8_t first;
    return memory_read(trace->stack->memory, pointer, &first, sizeof(first)) == CH_OK;
}

// trace_is_hidden returns true if the variable is one that compilers make, such as that
// of the range of a loop. Its name is reserved for them.
static bool trace_is_hidden(const struct argument_named *named)
{
    return named->variable && strncmp(named->expression.bytes, "__", 2) == 0;
}

bool argument_trace_register(struct argument_trace *trace, size_t index, uint8_t reg,
                             uint8_t bytes, struct argument_named *out)
{
    struct tracing t;
    if (!trace_begin(trace, index, reg, out, &t))
        return false;
    t.bytes = bytes;
    if (!trace_back(&t) && !trace_element(&t))
        return false;
    return !trace_is_hidden(out) ||
           (argument_trace_stored(trace, index, reg, out) && out->added == 0);
}

bool argument_trace_offset(struct argument_trace *trace, size_t index, uint8_t reg,
                           struct argument_named *out)
{
    struct tracing t;
    if (!trace_begin(trace, index, reg, out, &t))
        return false;
    t.offset = true;
    return trace_back(&t) &&
           (!trace_is_hidden(out) || argument_trace_stored(trace, index, reg, out));
}

bool argument_trace_sum(struct argument_trace *trace, size_t index, uint8_t reg,
                        struct argument_named out[2])
{
    struct tracing t;
    if (!trace_begin(trace, index, reg, &out[0], &t))
        return false;
    size_t step = trace_definition(&t);
    const struct instruction_effects *effects =
        step != SIZE_MAX ? &t.scan->code.steps[step].effects : NULL;
    const struct instruction_memory *memory = effects != NULL ? &effects->memory : NULL;
    enum instruction_action action =
        effects != NULL ? trace_action(effects, reg) : INSTRUCTION_DOES_OTHER;
    bool sums = action == INSTRUCTION_SUMS;
    if (!sums && (action != INSTRUCTION_ADDRESSES || memory->displacement != 0))
        return false;
    bool first = trace_summand(&t, step, sums ? effects->to : memory->base, &out[0]);
    bool second =
        trace_summand(&t, step, sums ? effects->from : memory->index, &out[1]);
    if (!sums)
        out[1].scale *= memory->scale;
    return first || second;
}

bool argument_trace_memory(struct argument_trace *trace, size_t index,
                           const struct instruction_memory *memory,
                           struct argument_named *out)
{
    struct tracing t;
    bool named = false;
    if (!trace_begin(trace, index, 0, out, &t))
        return false;
    if (!trace_load(&t, t.now, memory, &named))
        named = trace_back(&t);
    return named || trace_element(&t);
}

bool argument_trace_value(struct argument_trace *trace, size_t index, uint8_t reg,
                          uint64_t *out)
{
    struct argument_named unused = { 0 };
    struct tracing t;
    int64_t offsets[LINKS_MAX]; // of pointers that were loaded on the way
    size_t count = 0;
    size_t step;
    if (!trace_begin(trace, index, reg, &unused, &t))
        return false;
    while ((step = trace_definition(&t)) != SIZE_MAX &&
           !trace_value_at(&t, step, out)) {
        const struct instruction_effects *effects = &t.scan->code.steps[step].effects;
        enum instruction_action action = trace_action(effects, t.reg);
        if (action == INSTRUCTION_MOVES && effects->bytes == WORD_BYTES) {
            t.reg = effects->from;
            t.at = step;
            continue;
        }
        if (action != INSTRUCTION_LOADS || effects->bytes != WORD_BYTES ||
            effects->memory.base >= ARGUMENT_GENERAL_REGISTERS ||
            effects->memory.index != INSTRUCTION_NO_REGISTER || count == LINKS_MAX)
            return false;
        offsets[count++] = trace_source(effects, t.reg).displacement;
        t.reg = effects->memory.base;
        t.at = step;
    }
    bool known = step != SIZE_MAX;
    while (known && count != 0)
        known = trace_read(&t, *out + (uint64_t)offsets[--count], WORD_BYTES, out);
    return known;
}

// trace_store finds the step that stored the word which step from loads. SIZE_MAX: that
// is not known.
static size_t trace_store(const struct tracing *t, size_t from)
{
    const struct instruction_memory *slot = &t->scan->code.steps[from].effects.memory;
    size_t at = from;
    while (slot->base < ARGUMENT_GENERAL_REGISTERS &&
           slot->index == INSTRUCTION_NO_REGISTER &&
           !argument_scan_is_joined(t->scan, at)) {
        const struct instruction_effects *effects = &t->scan->code.steps[--at].effects;
        const struct instruction_memory *to = &effects->memory;
        if (effects->written >> slot->base & 1)
            return SIZE_MAX;
        if (effects->action == INSTRUCTION_STORES && to->base == slot->base &&
            to->index == INSTRUCTION_NO_REGISTER &&
            to->displacement == slot->displacement)
            return effects->bytes == WORD_BYTES ? at : SIZE_MAX;
    }
    return SIZE_MAX;
}

// trace_whole goes back to the step that made a word of 4 bytes, through copies, sums
// with constants, and local variables. SIZE_MAX: there is none.
static size_t trace_whole(struct tracing *t)
{
    for (int i = 0; i < 2 * LINKS_MAX; i++) {
        size_t step = trace_definition(t);
        if (step == SIZE_MAX)
            return SIZE_MAX;
        const struct instruction_effects *effects = &t->scan->code.steps[step].effects;
        enum instruction_action action = trace_action(effects, t->reg);
        bool copies = action == INSTRUCTION_MOVES || action == INSTRUCTION_LOADS;
        if (copies && effects->bytes == HALF_BYTES)
            return step;
        if (!(copies && effects->bytes == WORD_BYTES) && action != INSTRUCTION_ADDS)
            return SIZE_MAX;
        if (action == INSTRUCTION_LOADS)
            step = trace_store(t, step);
        if (step == SIZE_MAX)
            return SIZE_MAX;
        if (action != INSTRUCTION_ADDS)
            t->reg = t->scan->code.steps[step].effects.from;
        t->at = step;
    }
    return SIZE_MAX;
}

// trace_made finds the step that made the value that was copied to the register.
static size_t trace_made(struct tracing *t)
{
    size_t step = trace_definition(t);
    for (int i = 0; step != SIZE_MAX && i < LINKS_MAX; i++) {
        const struct instruction_effects *effects = &t->scan->code.steps[step].effects;
        if (trace_action(effects, t->reg) != INSTRUCTION_MOVES ||
            effects->bytes != WORD_BYTES)
            break;
        t->reg = effects->from;
        t->at = step;
        step = trace_definition(t);
    }
    return step;
}

bool argument_trace_stored(struct argument_trace *trace, size_t index, uint8_t reg,
                           struct argument_named *out)
{
    struct tracing t;
    if (!trace_begin(trace, index, reg, out, &t))
        return false;
    const struct instruction_memory *slot = NULL;
    for (int i = 0; i < LINKS_MAX; i++) {
        size_t step = trace_made(&t);
        const struct instruction_effects *effects =
            step != SIZE_MAX ? &t.scan->code.steps[step].effects : NULL;
        bool loads = effects != NULL && effects->bytes == WORD_BYTES &&
                     trace_action(effects, t.reg) == INSTRUCTION_LOADS;
        // What was stored may have been loaded from the variable itself.
        if (slot != NULL && (!loads || effects->memory.base != slot->base ||
                             effects->memory.displacement != slot->displacement))
            break;
        size_t store = loads ? trace_store(&t, step) : SIZE_MAX;
        if (store == SIZE_MAX)
            return false;
        slot = &effects->memory;
        t.at = store;
        t.reg = t.scan->code.steps[store].effects.from;
    }
    t.offset = true;
    return trace_back(&t) && !trace_is_hidden(out);
}

bool argument_trace_cut(struct argument_trace *trace, size_t index, uint8_t reg,
                        struct argument_named *out, uint64_t *out_vaddr)
{
    struct tracing t;
    uint64_t size;
    bool named = false;
    if (!trace_begin(trace, index, reg, out, &t))
        return false;
    size_t step = trace_whole(&t);
    if (step == SIZE_MAX)
        return false;
    *out_vaddr = t.scan->code.steps[step].vaddr;
    t.bytes = HALF_BYTES;
    if (!trace_step_back(&t, step, &named))
        named = trace_back(&t);
    const struct type_table *table = &t.call->image->types.table;
    return named && !out->is_address && out->scale == 1 && !argument_is_returned(out) &&
           table->types[type_strip(table, out->type)].kind == TYPE_INTEGER &&
           type_size(table, out->type, &size) == CH_OK && size == HALF_BYTES;
}

const struct argument_step *argument_trace_step(struct argument_trace *trace,
                                                size_t index)
{
    struct argument_named unused = { 0 };
    struct tracing t;
    return trace_begin(trace, index, 0, &unused, &t) ? &t.scan->code.steps[t.now]
                                                     : NULL;
}
