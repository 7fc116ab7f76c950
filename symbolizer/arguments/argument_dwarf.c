// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_dwarf.h"

#include "symbolizer/arguments/argument_entry.h"
#include "symbolizer/arguments/argument_lookup.h"
#include "symbolizer/arguments/argument_value.h"

// prove_entry looks for the value of a register at the function's entry, where the code
// of the function or of its caller proves it.
static enum ch_status prove_entry(const struct argument_lookup *l, uint8_t reg,
                                  struct argument *argument)
{
    struct argument_entry entry;
    uint64_t size;
    enum ch_status status = argument_entry_find(l->stack, l->site.index, reg, &entry);
    if (status != CH_OK)
        return status;
    if (type_size(&l->call->image->types.table, argument->type, &size) != CH_OK ||
        size > entry.bytes)
        return CH_ERR_NOT_FOUND;
    status = argument_value_make(l->stack, l->call, &entry.location, argument,
                                 ARGUMENT_AT_ENTRY);
    if (status == CH_OK) {
        argument->source = entry.source;
        argument->confidence = "proved";
    }
    return status;
}

// find_entry_value looks for the value with which the argument was passed.
static enum ch_status find_entry_value(struct argument_lookup *l,
                                       struct argument *argument)
{
    struct argument_location location = { .kind = ARGUMENT_IS_VALUE };
    uint8_t reg = argument->planned->passed_in;
    if (!argument->planned->passed)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = argument_site_entry(&l->context, reg, &location.value);
    if (status != CH_OK && argument->source == NULL)
        return prove_entry(l, reg, argument);
    if (status != CH_OK)
        return status;
    status =
        argument_value_make(l->stack, l->call, &location, argument, ARGUMENT_AT_ENTRY);
    if (status == CH_OK && argument->source == NULL) {
        argument->source = "callsite";
        argument->confidence = "exact";
    }
    return status;
}

// settle_reference drops the entry value of a reference: it refers to the same object
// from its call on, and what is known of that object is what it is now.
static void settle_reference(struct argument *argument)
{
    json_t **values = argument->values;
    if (!argument->planned->reference)
        return;
    if (values[ARGUMENT_NOW] == NULL)
        values[ARGUMENT_NOW] = values[ARGUMENT_AT_ENTRY];
    else
        json_decref(values[ARGUMENT_AT_ENTRY]);
    values[ARGUMENT_AT_ENTRY] = NULL;
}

// list_parameters lists what plan has; none of an inlined call were passed.
static void list_parameters(struct argument_lookup *l, const struct argument_plan *plan,
                            struct argument_list *out)
{
    for (size_t i = 0; plan != NULL && i < plan->count; i++) {
        struct argument argument = argument_lookup_argument(&plan->variables[i]);
        enum ch_status status = argument_lookup_now(l, &argument);
        if (!l->inlined)
            (void)!find_entry_value(l, &argument);
        settle_reference(&argument);
        argument_lookup_add(out, &argument, status);
    }
}

bool argument_dwarf_list(const struct argument_stack *stack, size_t index,
                         struct argument_list *out)
{
    struct argument_lookup l;
    if (!stack->calls[index].has_function)
        return false;
    argument_lookup_begin(&l, stack, index, out);
    list_parameters(&l, argument_plan_find(l.call, NULL, ARGUMENT_PLAN_PARAMETERS),
                    out);
    return true;
}

void argument_dwarf_list_inlined(const struct argument_stack *stack, size_t index,
                                 const Dwarf_Die *inlined, struct argument_list *out)
{
    struct argument_lookup l;
    argument_lookup_begin(&l, stack, index, out);
    l.inlined = true;
    list_parameters(&l, argument_plan_find(l.call, inlined, ARGUMENT_PLAN_PARAMETERS),
                    out);
}
