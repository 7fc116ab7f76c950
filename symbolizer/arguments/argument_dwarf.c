// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_dwarf.h"

#include <dwarf.h>

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
    status = argument_value_make(l->stack, l->call, argument, &entry.location,
                                 &argument->entry_value);
    if (status == CH_OK) {
        argument->source = entry.source;
        argument->confidence = "proved";
    }
    return status;
}

// find_entry_location looks for the value with which the argument was passed: its
// location at the function's entry says in which register.
static enum ch_status find_entry_location(struct argument_lookup *l,
                                          Dwarf_Die *parameter,
                                          struct argument *argument)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *ops;
    size_t count;
    Dwarf_Addr entry;
    struct argument_location location = { .kind = ARGUMENT_IS_VALUE };
    Dwarf_Die function = l->call->function;
    if (dwarf_entrypc(&function, &entry) != 0 ||
        dwarf_attr(parameter, DW_AT_location, &attribute) == NULL ||
        dwarf_getlocation_addr(&attribute, entry, &ops, &count, 1) != 1 || count != 1 ||
        ops[0].atom < DW_OP_reg0 || ops[0].atom > DW_OP_reg31)
        return CH_ERR_NOT_FOUND;
    enum ch_status status =
        argument_site_entry(&l->context, ops[0].atom - DW_OP_reg0, &location.value);
    if (status != CH_OK && argument->source == NULL)
        return prove_entry(l, ops[0].atom - DW_OP_reg0, argument);
    if (status != CH_OK)
        return status;
    status = argument_value_make(l->stack, l->call, argument, &location,
                                 &argument->entry_value);
    if (status == CH_OK && argument->source == NULL) {
        argument->source = "callsite";
        argument->confidence = "exact";
    }
    return status;
}

// settle_reference drops the entry value of a reference: it refers to the same object
// from its call on, and what is known of that object is what it is now.
static void settle_reference(const struct type_table *table, struct argument *argument)
{
    if (!table->types[type_strip(table, argument->type)].reference)
        return;
    if (argument->value == NULL)
        argument->value = argument->entry_value;
    else
        json_decref(argument->entry_value);
    argument->entry_value = NULL;
}

static void add_parameter(struct argument_lookup *l, Dwarf_Die *parameter,
                          struct argument_list *out)
{
    struct type_dwarf *types = &l->call->image->types.dwarf_types;
    struct argument argument = { .name = dwarf_diename(parameter) };
    if (type_dwarf_add_type_of(types, parameter, &argument.type) != CH_OK)
        argument.type = TYPE_UNKNOWN_INDEX;
    enum ch_status status = argument_lookup_now(l, parameter, &argument);
    if (!l->inlined)
        (void)!find_entry_location(l, parameter, &argument);
    settle_reference(out->table, &argument);
    argument_lookup_add(out, &argument, status);
}

bool argument_dwarf_list(const struct argument_stack *stack, size_t index,
                         struct argument_list *out)
{
    struct argument_lookup l;
    if (!stack->calls[index].has_function)
        return false;
    argument_lookup_begin(&l, stack, index, out);
    Dwarf_Die function = l.call->function;
    Dwarf_Die child;
    int more = dwarf_child(&function, &child);
    while (more == 0) {
        if (dwarf_tag(&child) == DW_TAG_formal_parameter)
            add_parameter(&l, &child, out);
        more = dwarf_siblingof(&child, &child);
    }
    return true;
}

// find_instance finds the child of inlined that is an instance of parameter.
static bool find_instance(Dwarf_Die *inlined, const Dwarf_Die *parameter,
                          Dwarf_Die *out)
{
    Dwarf_Die child;
    int more = dwarf_child(inlined, &child);
    while (more == 0) {
        if (dwarf_tag(&child) == DW_TAG_formal_parameter &&
            argument_site_origin(&child).addr == parameter->addr) {
            *out = child;
            return true;
        }
        more = dwarf_siblingof(&child, &child);
    }
    return false;
}

void argument_dwarf_list_inlined(const struct argument_stack *stack, size_t index,
                                 const Dwarf_Die *inlined, struct argument_list *out)
{
    struct argument_lookup l;
    Dwarf_Die call = *inlined;
    Dwarf_Die function = argument_site_origin(&call);
    Dwarf_Die parameter;
    argument_lookup_begin(&l, stack, index, out);
    l.inlined = true;
    int more = dwarf_child(&function, &parameter);
    while (more == 0) {
        // A parameter that was optimized away in this instance still has its name and
        // type.
        Dwarf_Die instance = parameter;
        if (dwarf_tag(&parameter) == DW_TAG_formal_parameter) {
            (void)find_instance(&call, &parameter, &instance);
            add_parameter(&l, &instance, out);
        }
        more = dwarf_siblingof(&parameter, &parameter);
    }
}
