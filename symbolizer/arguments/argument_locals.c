// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_locals.h"

#include "symbolizer/arguments/argument_lookup.h"

void argument_locals_list(const struct argument_stack *stack, size_t index,
                          const Dwarf_Die *inlined, struct argument_list *out)
{
    const struct argument_call *call = &stack->calls[index];
    const struct argument_plan *plan =
        call->has_function ? argument_plan_find(call, inlined, ARGUMENT_PLAN_LOCALS)
                           : NULL;
    struct argument_lookup l;
    if (plan == NULL || plan->count == 0)
        return;
    argument_lookup_begin(&l, stack, index, out);
    l.inlined = inlined != NULL;
    for (size_t i = 0; i < plan->count; i++) {
        struct argument argument = argument_lookup_argument(&plan->variables[i]);
        enum ch_status status = argument_lookup_now(&l, &argument);
        argument_lookup_add(out, &argument, status);
    }
}
