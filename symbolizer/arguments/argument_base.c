// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_base.h"

#include "symbolizer/arguments/argument_expression.h"
#include "symbolizer/arguments/argument_plan.h"

static bool base_evaluate(const struct argument_stack *stack,
                          const struct argument_call *call, uint64_t *out)
{
    struct argument_location location;
    const struct argument_context context = { .frame = &call->frame,
                                              .memory = stack->memory,
                                              .bias = call->image->bias };
    const struct argument_plan *plan =
        argument_plan_find(call, NULL, ARGUMENT_PLAN_BASE);
    if (plan == NULL || plan->count == 0 || plan->variables[0].found != CH_OK ||
        argument_expression_evaluate(&context, plan->variables[0].ops,
                                     plan->variables[0].count, &location) != CH_OK)
        return false;
    *out = location.kind == ARGUMENT_IN_REGISTER
               ? call->frame.registers.value[location.value]
               : location.value;
    return true;
}

bool argument_base_find(const struct argument_stack *stack,
                        const struct argument_call *call, uint64_t *out)
{
    struct argument_call *found = &stack->calls[call - stack->calls];
    if (!found->based)
        found->has_frame_base = base_evaluate(stack, call, &found->frame_base);
    found->based = true;
    if (found->has_frame_base)
        *out = found->frame_base;
    return found->has_frame_base;
}
