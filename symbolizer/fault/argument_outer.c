// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/fault/argument_outer.h"

#include <string.h>

#include "report/value/report.h"

enum { WORD_BYTES = 8, REGISTERS = 6, LEVELS_MAX = 4, NEAR_NULL_BYTES = 65536 };

// first_in_app gives the first in-app call after index, which called; 0: there is none.
static size_t first_in_app(const struct argument_stack *stack, size_t index)
{
    for (size_t i = index + 1; i < stack->count; i++)
        if (!report_flag(stack->calls[i].from, "system"))
            return stack->calls[i].image != NULL ? i : 0;
    return 0;
}

// outer_name names the pointer that was passed in a register, if with what was added to
// it it has the value.
static bool outer_name(struct argument_trace *trace, size_t caller, uint8_t reg,
                       uint64_t value, struct argument_named *out)
{
    if (!argument_trace_register(trace, caller, reg, WORD_BYTES, out) &&
        !argument_trace_offset(trace, caller, reg, out))
        return false;
    const struct type_table *table = &out->call->image->types.table;
    return !out->is_address && out->scale == 1 && out->has_value &&
           table->types[type_strip(table, out->type)].kind == TYPE_POINTER &&
           out->value + (uint64_t)out->added == value &&
           (out->added == 0 || !argument_trace_leads(trace, out->value));
}

// outer_find_at finds what the call at index passed as value. A register that passes
// nothing may still have a copy of it, by the same name.
static bool outer_find_at(struct argument_trace *trace, size_t index, uint64_t value,
                          struct argument_named *out)
{
    const struct argument_machine *machine = argument_machine_of(trace->stack->arch);
    const struct argument_step *step = argument_trace_step(trace, index);
    struct argument_named other = { 0 };
    int found = -1;
    bool same = true;
    if (step == NULL || step->effects.flow != INSTRUCTION_CALLS)
        return false;
    for (int i = 0; i < REGISTERS && same; i++) {
        if (!outer_name(trace, index, machine->arguments[i], value, &other))
            continue;
        if (found >= 0)
            same = outer_name(trace, index, machine->arguments[found], value, out) &&
                   strcmp(out->expression.bytes, other.expression.bytes) == 0;
        found = found < 0 ? i : found;
    }
    argument_named_deinit(&other);
    return found >= 0 && same &&
           outer_name(trace, index, machine->arguments[found], value, out);
}

bool argument_outer_find(struct argument_trace *trace, size_t index, uint64_t value,
                         struct argument_named *out)
{
    const struct argument_stack *stack = trace->stack;
    struct argument_named next = { 0 };
    bool found = false;
    for (int level = 0; level < LEVELS_MAX; level++) {
        index = first_in_app(stack, index);
        if (index == 0 || !outer_find_at(trace, index, value, &next))
            break;
        struct argument_named before = *out;
        *out = next;
        next = before;
        found = true;
        value = out->value;
        // An argument that is close to null may be a member of what is null further
        // out.
        if (!out->variable || out->role != ARGUMENT_PARAMETER || value == 0 ||
            value + NEAR_NULL_BYTES >= 2 * (uint64_t)NEAR_NULL_BYTES)
            break;
    }
    argument_named_deinit(&next);
    return found;
}
