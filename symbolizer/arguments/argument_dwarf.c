// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_dwarf.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/arguments/argument_entry.h"
#include "symbolizer/arguments/argument_expression.h"
#include "symbolizer/arguments/argument_site.h"
#include "symbolizer/arguments/argument_value.h"

// ORIGINS_MAX is the longest chain of entries that are instances of one another.
enum { ORIGINS_MAX = 4 };

// lookup is the call whose arguments are looked up.
struct lookup {
    const struct argument_stack *stack;
    const struct argument_call *call;
    struct argument_site site; // of the call, in its caller
    bool inlined;              // the call is inlined into call index
    struct argument_context context;
};

// before_slot says whether the pc is before the point where the function has stored the
// argument in its frame: without optimization a location is valid only after the
// prologue.
static bool before_slot(const struct lookup *l,
                        const struct argument_location *location)
{
    Dwarf_Addr *after = NULL;
    Dwarf_Die function = l->call->function;
    if (!l->call->frame.activation || location->kind != ARGUMENT_IN_MEMORY ||
        location->value >= l->call->frame.cfa)
        return false;
    int count = dwarf_entry_breakpoints(&function, &after);
    bool before = count > 0 && l->call->vaddr < after[0];
    free(after);
    return before;
}

// find_constant takes a value that the argument has at every pc. CH_END: it has neither
// such a value nor a location.
static enum ch_status find_constant(struct lookup *l, Dwarf_Die *parameter,
                                    struct argument *argument)
{
    Dwarf_Attribute attribute;
    Dwarf_Word word;
    Dwarf_Block block;
    struct argument_location location = { .kind = ARGUMENT_IS_VALUE };
    if (dwarf_attr_integrate(parameter, DW_AT_const_value, &attribute) == NULL)
        return CH_END;
    if (dwarf_formudata(&attribute, &word) == 0)
        location.value = word;
    else if (dwarf_formblock(&attribute, &block) == 0)
        location = (struct argument_location){ .kind = ARGUMENT_IS_BYTES,
                                               .value = block.length,
                                               .bytes = block.data };
    else
        return CH_ERR_UNSUPPORTED;
    enum ch_status status =
        argument_value_make(l->stack, l->call, argument, &location, &argument->value);
    if (status == CH_OK) {
        argument->source = "dwarf-constant";
        argument->confidence = "exact";
    }
    return status;
}

// is_imaginary says whether the location is a pointer to an object that was optimized
// away.
static bool is_imaginary(const Dwarf_Op *op)
{
    return op->atom == DW_OP_implicit_pointer || op->atom == DW_OP_GNU_implicit_pointer;
}

// find_now looks for the argument's value at the pc.
static enum ch_status find_now(struct lookup *l, Dwarf_Die *parameter,
                               struct argument *argument)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *ops;
    size_t count;
    struct argument_location location;
    if (dwarf_attr(parameter, DW_AT_location, &attribute) == NULL)
        return find_constant(l, parameter, argument);
    if (dwarf_getlocation_addr(&attribute, l->call->vaddr, &ops, &count, 1) != 1 ||
        count == 0)
        return CH_ERR_NOT_FOUND;
    if (is_imaginary(&ops[0]))
        return CH_END;
    l->context.attribute = &attribute;
    enum ch_status status =
        argument_expression_evaluate(&l->context, ops, count, &location);
    l->context.attribute = NULL;
    if (status != CH_OK)
        return status;
    bool is_list = dwarf_whatform(&attribute) != DW_FORM_exprloc;
    if (!is_list && before_slot(l, &location))
        return CH_ERR_NOT_FOUND;
    status =
        argument_value_make(l->stack, l->call, argument, &location, &argument->value);
    if (status == CH_OK) {
        argument->source = location.entered ? "dwarf-entry-value" : "dwarf-location";
        argument->confidence = "exact";
    }
    return status;
}

// prove_entry looks for the value of a register at the function's entry, where the code
// of the function or of its caller proves it.
static enum ch_status prove_entry(const struct lookup *l, uint8_t reg,
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

// find_entry looks for the value with which the argument was passed: its location at
// the function's entry says in which register.
static enum ch_status find_entry(struct lookup *l, Dwarf_Die *parameter,
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

static const char *argument_dwarf_reason_of(enum ch_status status)
{
    switch (status) {
    case CH_END:
        return "optimized-out";
    case CH_ERR_UNSUPPORTED:
        return "aggregate-split";
    case CH_ERR_FAULT:
        return "unreadable";
    default:
        return "clobbered";
    }
}

static void add_parameter(struct lookup *l, Dwarf_Die *parameter,
                          struct argument_list *out)
{
    struct type_dwarf *types = &l->call->image->types.dwarf_types;
    struct argument argument = { .name = dwarf_diename(parameter) };
    if (type_dwarf_add_type_of(types, parameter, &argument.type) != CH_OK)
        argument.type = TYPE_UNKNOWN_INDEX;
    enum ch_status status = find_now(l, parameter, &argument);
    if (!l->inlined)
        (void)!find_entry(l, parameter, &argument);
    if (argument.source == NULL) {
        argument.source = "none";
        argument.confidence = "unavailable";
        argument.reason = argument_dwarf_reason_of(status);
    }
    argument_list_add(out, &argument);
}

// begin_lookup initializes l for the arguments of call index.
static void begin_lookup(struct lookup *l, const struct argument_stack *stack,
                         size_t index, struct argument_list *out)
{
    const struct argument_call *call = &stack->calls[index];
    *l = (struct lookup){ .stack = stack,
                          .call = call,
                          .site = { .stack = stack, .index = index } };
    l->context = (struct argument_context){ .frame = &call->frame,
                                            .memory = stack->memory,
                                            .bias = call->image->bias,
                                            .entry = argument_site_entry,
                                            .entry_data = &l->site };
    l->context.has_frame_base =
        argument_stack_frame_base(stack, call, &l->context.frame_base);
    out->table = &call->image->types.table;
}

bool argument_dwarf_list(const struct argument_stack *stack, size_t index,
                         struct argument_list *out)
{
    struct lookup l;
    if (!stack->calls[index].has_function)
        return false;
    begin_lookup(&l, stack, index, out);
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

// origin_of gives the entry that die is an instance of, or die if it is none.
static Dwarf_Die origin_of(Dwarf_Die *die)
{
    Dwarf_Die of = *die;
    Dwarf_Attribute attribute;
    for (int i = 0;
         i < ORIGINS_MAX && dwarf_attr(&of, DW_AT_abstract_origin, &attribute) != NULL;
         i++)
        if (dwarf_formref_die(&attribute, &of) == NULL)
            break;
    return of;
}

// find_instance finds the child of inlined that is an instance of parameter.
static bool find_instance(Dwarf_Die *inlined, const Dwarf_Die *parameter,
                          Dwarf_Die *out)
{
    Dwarf_Die child;
    int more = dwarf_child(inlined, &child);
    while (more == 0) {
        if (dwarf_tag(&child) == DW_TAG_formal_parameter &&
            origin_of(&child).addr == parameter->addr) {
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
    struct lookup l;
    Dwarf_Die call = *inlined;
    Dwarf_Die function = origin_of(&call);
    Dwarf_Die parameter;
    begin_lookup(&l, stack, index, out);
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
