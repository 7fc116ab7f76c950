// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_lookup.h"

#include <dwarf.h>
#include <stdlib.h>

#include "symbolizer/arguments/argument_site.h"
#include "symbolizer/arguments/argument_value.h"

// is_before_slot returns true if the pc is before the point where the function has
// stored the argument in its frame: without optimization a location is valid only after
// the prologue.
static bool is_before_slot(const struct argument_lookup *l,
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

// lookup_constant takes a value that the argument has at every pc.
static enum ch_status lookup_constant(struct argument_lookup *l,
                                      struct argument *argument)
{
    Dwarf_Attribute attribute = argument->planned->attribute;
    Dwarf_Word word;
    Dwarf_Block block;
    struct argument_location location = { .kind = ARGUMENT_IS_VALUE };
    if (dwarf_formudata(&attribute, &word) == 0)
        location.value = word;
    else if (dwarf_formblock(&attribute, &block) == 0)
        location = (struct argument_location){ .kind = ARGUMENT_IS_BYTES,
                                               .value = block.length,
                                               .bytes = block.data };
    else
        return CH_ERR_UNSUPPORTED;
    enum ch_status status =
        argument_value_make(l->stack, l->call, &location, argument, ARGUMENT_NOW);
    if (status == CH_OK) {
        argument->source = "dwarf-constant";
        argument->confidence = "exact";
    }
    return status;
}

struct argument argument_lookup_argument(const struct argument_planned *planned)
{
    return (struct argument){ .planned = planned,
                              .name = planned->name,
                              .type = planned->type };
}

enum ch_status argument_lookup_now(struct argument_lookup *l, struct argument *argument)
{
    const struct argument_planned *planned = argument->planned;
    Dwarf_Attribute attribute = planned->attribute;
    struct argument_location location;
    if (planned->found != CH_OK)
        return planned->found;
    if (planned->constant)
        return lookup_constant(l, argument);
    l->context.attribute = &attribute;
    enum ch_status status = argument_expression_evaluate(&l->context, planned->ops,
                                                         planned->count, &location);
    l->context.attribute = NULL;
    if (status != CH_OK)
        return status;
    if (!planned->listed && is_before_slot(l, &location))
        return CH_ERR_NOT_FOUND;
    status = argument_value_make(l->stack, l->call, &location, argument, ARGUMENT_NOW);
    if (status == CH_OK) {
        argument->source = location.entered ? "dwarf-entry-value" : "dwarf-location";
        argument->confidence = "exact";
    }
    return status;
}

static const char *lookup_reason_of(enum ch_status status)
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

void argument_lookup_add(struct argument_list *out, struct argument *argument,
                         enum ch_status status)
{
    if (argument->source == NULL) {
        argument->source = "none";
        argument->confidence = "unavailable";
        if (argument->reason == NULL)
            argument->reason = lookup_reason_of(status);
        // Before it is assigned and after it was last used a variable is nowhere. An
        // argument had a place.
        if (argument->planned != NULL && argument->planned->local &&
            argument->planned->found == CH_ERR_NOT_FOUND)
            argument->reason = "no-location";
        if (argument->planned != NULL && status != CH_END &&
            argument->planned->type == TYPE_UNKNOWN_INDEX)
            argument->reason = "no-type";
    }
    argument_list_add(out, argument);
}

void argument_lookup_begin(struct argument_lookup *l,
                           const struct argument_stack *stack, size_t index,
                           struct argument_list *out)
{
    const struct argument_call *call = &stack->calls[index];
    *l = (struct argument_lookup){ .stack = stack,
                                   .call = call,
                                   .site = { .stack = stack, .index = index } };
    l->context = (struct argument_context){ .frame = &call->frame,
                                            .memory = stack->memory,
                                            .bias = call->image->bias,
                                            .entry = argument_site_entry,
                                            .passed = argument_site_passed,
                                            .entry_data = &l->site };
    l->context.thread_block =
        argument_image_thread_block(call->image, stack->thread_pointer);
    l->context.has_frame_base = argument_base_find(stack, call, &l->context.frame_base);
    argument_list_begin(out, stack, call->image);
}
