// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_site.h"

#include <dwarf.h>
#include <string.h>

#include "symbolizer/arguments/argument_entry.h"
#include "symbolizer/arguments/argument_expression.h"
#include "symbolizer/arguments/argument_plan.h"
#include "symbolizer/arguments/argument_stack.h"
#include "symbolizer/arguments/argument_start.h"
#include "symbolizer/files/die_walk.h"

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

enum { SCOPE_DEPTH_MAX = 64 };

static bool is_site(Dwarf_Die *die)
{
    int tag = dwarf_tag(die);
    return tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site;
}

// site_is_modern returns true if a call site is one of DWARF 5, and not of GNU's
// extension before it.
static bool site_is_modern(Dwarf_Die *die)
{
    return dwarf_tag(die) == DW_TAG_call_site;
}

// returns_to returns true if the call of site returns to vaddr.
static bool returns_to(Dwarf_Die *site, uint64_t vaddr)
{
    Dwarf_Attribute attribute;
    Dwarf_Addr address;
    unsigned name = site_is_modern(site) ? DW_AT_call_return_pc : DW_AT_low_pc;
    return dwarf_attr(site, name, &attribute) != NULL &&
           dwarf_formaddr(&attribute, &address) == 0 && address == vaddr;
}

// is_scope returns true if die may contain a call that returns to vaddr.
static bool is_scope(Dwarf_Die *die, uint64_t vaddr)
{
    int tag = dwarf_tag(die);
    return (tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) &&
           (dwarf_haspc(die, vaddr - 1) == 1 || dwarf_haspc(die, vaddr) == 1);
}

// site_find_entry searches the scopes of function for the call that returns to vaddr.
static bool site_find_entry(Dwarf_Die *function, uint64_t vaddr, Dwarf_Die *out)
{
    Dwarf_Die at[SCOPE_DEPTH_MAX];
    int depth = 0;
    if (dwarf_child(function, &at[0]) != 0)
        return false;
    for (;;) {
        if (is_site(&at[depth]) && returns_to(&at[depth], vaddr)) {
            *out = at[depth];
            return true;
        }
        if (depth + 1 < SCOPE_DEPTH_MAX && is_scope(&at[depth], vaddr) &&
            dwarf_child(&at[depth], &at[depth + 1]) == 0) {
            depth++;
            continue;
        }
        if (!die_walk_on(at, &depth))
            return false;
    }
}

// site_frame_before gives the caller's frame as it was at the call, with the registers
// that what needs and that the called function still has from its entry. False: there
// are none of these.
static bool site_frame_before(const struct argument_site *site,
                              const struct argument_passed *what,
                              struct argument_frame *out)
{
    bool more = false;
    *out = site->stack->calls[site->index + 1].frame;
    for (size_t i = 0; i < what->count; i++) {
        uint8_t atom = what->ops[i].atom;
        uint8_t reg =
            (uint8_t)(atom >= DW_OP_breg0 ? atom - DW_OP_breg0 : atom - DW_OP_reg0);
        bool named = atom >= DW_OP_reg0 && atom <= DW_OP_breg31;
        if (!named || argument_frame_knows(out, reg) ||
            !argument_entry_held(site->stack, site->index, reg,
                                 &out->registers.value[reg & 31]))
            continue;
        out->known |= UINT64_C(1) << reg;
        more = true;
    }
    return more;
}

// evaluate_site_value evaluates an expression of a call site in the caller's frame.
static enum ch_status evaluate_site_value(const struct argument_site *site,
                                          const struct argument_passed *what,
                                          uint64_t *out)
{
    const struct argument_call *caller = &site->stack->calls[site->index + 1];
    const struct argument_site next = { .stack = site->stack,
                                        .index = site->index + 1 };
    struct argument_location location;
    Dwarf_Attribute attribute = what->value;
    struct argument_context context = { .frame = &caller->frame,
                                        .memory = site->stack->memory,
                                        .bias = caller->image->bias,
                                        .entry = argument_site_entry,
                                        .passed = argument_site_passed,
                                        .entry_data = &next,
                                        .attribute = &attribute };
    context.has_frame_base =
        argument_base_find(site->stack, caller, &context.frame_base);
    enum ch_status status =
        argument_expression_evaluate(&context, what->ops, what->count, &location);
    struct argument_frame before;
    if (status == CH_ERR_NOT_FOUND && site_frame_before(site, what, &before)) {
        context.frame = &before;
        status =
            argument_expression_evaluate(&context, what->ops, what->count, &location);
    }
    if (status != CH_OK)
        return status;
    // A bare expression is the value itself, not a location.
    if (location.kind == ARGUMENT_IN_MEMORY || location.kind == ARGUMENT_IS_VALUE) {
        *out = location.value;
        return CH_OK;
    }
    uint8_t word[sizeof(*out)];
    status = argument_location_bytes(&location, context.frame, site->stack->memory,
                                     word, sizeof(word));
    if (status == CH_OK)
        memcpy(out, word, sizeof(word));
    return status;
}

// find_expression finds the expression in an attribute of a call site.
static bool find_expression(Dwarf_Die *die, unsigned name, struct argument_passed *out)
{
    return dwarf_attr(die, name, &out->value) != NULL &&
           dwarf_getlocation(&out->value, &out->ops, &out->count) == 0 &&
           out->count != 0;
}

// site_call gives the call that the caller's frame is in. False: the debug information
// has none. It is copied from the cache: what is asked next may take its place there.
static bool site_call(const struct argument_site *site, struct argument_called *out)
{
    const struct argument_call *caller = &site->stack->calls[site->index + 1];
    uint64_t returns = caller->address - caller->image->bias;
    struct argument_called *kept = argument_image_called(caller->image, returns);
    if (kept != NULL && kept->known && kept->returns == returns) {
        *out = *kept;
        return out->listed;
    }
    Dwarf_Die function = caller->function;
    *out = (struct argument_called){ .returns = returns, .known = true };
    out->listed = site_find_entry(&function, returns, &out->site);
    out->through_pointer =
        out->listed &&
        find_expression(&out->site,
                        site_is_modern(&out->site) ? DW_AT_call_target
                                                   : DW_AT_GNU_call_site_target,
                        &out->target);
    if (kept != NULL)
        *kept = *out;
    return out->listed;
}

// site_refers gives the function that the call is of. False: it is through a pointer.
static bool site_refers(struct argument_called *call, Dwarf_Die *out)
{
    return argument_origin_refer(
        &call->site,
        site_is_modern(&call->site) ? DW_AT_call_origin : DW_AT_abstract_origin, out);
}

// calls_function returns true if the call is one of the function that was entered;
// out_always: whether the answer needed no evaluation.
static bool calls_function(const struct argument_site *site,
                           struct argument_called *called, bool *out_always)
{
    const struct argument_call *call = &site->stack->calls[site->index];
    Dwarf_Die function = call->function;
    Dwarf_Die origin;
    Dwarf_Addr entry;
    uint64_t target;
    *out_always = true;
    if (site_refers(called, &origin))
        return argument_origin_is(&origin, &function);
    *out_always = false;
    return called->through_pointer && dwarf_entrypc(&function, &entry) == 0 &&
           evaluate_site_value(site, &called->target, &target) == CH_OK &&
           target == entry + call->image->bias;
}

// is_passed_in returns true if a call site's parameter is passed in the register.
static bool is_passed_in(Dwarf_Die *parameter, unsigned reg)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *ops;
    size_t count;
    int tag = dwarf_tag(parameter);
    return (tag == DW_TAG_call_site_parameter ||
            tag == DW_TAG_GNU_call_site_parameter) &&
           dwarf_attr(parameter, DW_AT_location, &attribute) != NULL &&
           dwarf_getlocation(&attribute, &ops, &count) == 0 && count == 1 &&
           ops[0].atom == DW_OP_reg0 + reg;
}

// find_parameter finds what a call site passes in the register.
static bool find_parameter(Dwarf_Die *site, unsigned reg, struct argument_passed *out)
{
    Dwarf_Die parameter;
    int more = dwarf_child(site, &parameter);
    while (more == 0) {
        bool modern = dwarf_tag(&parameter) == DW_TAG_call_site_parameter;
        if (is_passed_in(&parameter, reg))
            return find_expression(
                &parameter, modern ? DW_AT_call_value : DW_AT_GNU_call_site_value, out);
        more = die_walk_next(&parameter);
    }
    return false;
}

// site_find_passed gives what site's caller passed in the register: from the cache, or
// found now. It is cached, and the result true, if it is the same in each frame of that
// call.
static bool site_find_passed(const struct argument_site *site, unsigned reg,
                             struct argument_passed *out)
{
    const struct argument_call *call = &site->stack->calls[site->index];
    const struct argument_call *caller = call + 1;
    uint64_t returns = caller->address - caller->image->bias;
    struct argument_passed *kept =
        argument_image_passed(caller->image, call->function.addr, returns, reg);
    if (kept != NULL && kept->callee == call->function.addr &&
        kept->returns == returns && kept->reg == reg) {
        *out = *kept;
        return true;
    }
    struct argument_called called;
    bool always = true;
    *out = (struct argument_passed){ .callee = call->function.addr,
                                     .returns = returns,
                                     .reg = reg };
    out->said = site_call(site, &called) && calls_function(site, &called, &always) &&
                find_parameter(&called.site, reg, out);
    if (kept != NULL && always)
        *kept = *out;
    return always;
}

// site_may_follow returns true if the call has a caller that may be asked.
static bool site_may_follow(const struct argument_site *site)
{
    if (site->index + 1 >= site->stack->count)
        return false;
    const struct argument_call *call = &site->stack->calls[site->index];
    return call->has_function && !call[1].frame.activation;
}

// site_find_value finds what was passed in the register; out_final: the result is the
// same whoever asks, so it may be kept.
static enum ch_status site_find_value(const struct argument_site *site, unsigned reg,
                                      uint64_t *out, bool *out_final)
{
    struct argument_passed passed;
    *out_final = true;
    if (!site_may_follow(site))
        return CH_ERR_NOT_FOUND;
    if (argument_start_word(site->stack, site->index, reg, out))
        return CH_OK;
    if (!argument_stack_resolve(site->stack, site->index + 1))
        return CH_ERR_NOT_FOUND;
    bool always = site_find_passed(site, reg, &passed);
    enum ch_status status =
        passed.said ? evaluate_site_value(site, &passed, out) : CH_ERR_NOT_FOUND;
    *out_final = status == CH_OK || always;
    return status;
}

enum ch_status argument_site_entry(const struct argument_context *context, unsigned reg,
                                   uint64_t *out)
{
    const struct argument_site *site = context->entry_data;
    struct argument_call *call = &site->stack->calls[site->index];
    bool may_keep = reg < UNWIND_REGISTERS;
    bool final;
    // Each frame asks its caller, which asks its own, outwards to the end of the stack:
    // what was found once is kept, or that would take time as the square of its depth.
    if (may_keep && call->passed_status[reg] != 0) {
        *out = call->passed[reg];
        return (enum ch_status)(call->passed_status[reg] - 1);
    }
    enum ch_status status = site_find_value(site, reg, out, &final);
    if (may_keep && final) {
        call->passed[reg] = status == CH_OK ? *out : 0;
        call->passed_status[reg] = (uint8_t)(status + 1);
    }
    return status;
}

// site_find_passed_for finds what a call site passes for a parameter that is in no
// register.
static bool site_find_passed_for(Dwarf_Die *site, const Dwarf_Die *parameter,
                                 struct argument_passed *out)
{
    bool modern = site_is_modern(site);
    const void *wanted = argument_origin_of(parameter).addr;
    Dwarf_Die child;
    int more = dwarf_child(site, &child);
    while (more == 0) {
        Dwarf_Die of;
        int tag = dwarf_tag(&child);
        if ((tag == DW_TAG_call_site_parameter ||
             tag == DW_TAG_GNU_call_site_parameter) &&
            argument_origin_refer(
                &child, modern ? DW_AT_call_parameter : DW_AT_abstract_origin, &of) &&
            argument_origin_of(&of).addr == wanted)
            return find_expression(
                &child, modern ? DW_AT_call_value : DW_AT_GNU_call_site_value, out);
        more = die_walk_next(&child);
    }
    return false;
}

enum ch_status argument_site_passed(const struct argument_context *context,
                                    const Dwarf_Die *parameter, uint64_t *out)
{
    const struct argument_site *site = context->entry_data;
    struct argument_passed passed = { 0 };
    struct argument_called called;
    bool always;
    if (!site_may_follow(site) || !argument_stack_resolve(site->stack, site->index + 1))
        return CH_ERR_NOT_FOUND;
    if (!site_call(site, &called) || !calls_function(site, &called, &always) ||
        !site_find_passed_for(&called.site, parameter, &passed))
        return CH_ERR_NOT_FOUND;
    return evaluate_site_value(site, &passed, out);
}

bool argument_site_vaddr(struct argument_image *image, Dwarf_Die *function,
                         uint64_t *out)
{
    const char *name = argument_origin_name(function);
    Dwarf_Addr entry;
    if (dwarf_entrypc(function, &entry) == 0) {
        *out = entry;
        return true;
    }
    return argument_origin_is_external(function) && name != NULL &&
           argument_image_named(image, name, out);
}

bool argument_site_other(const struct argument_site *site, uint64_t *out_called,
                         uint64_t *out_entered)
{
    struct argument_called called;
    Dwarf_Die origin;
    Dwarf_Addr entered;
    const struct argument_call *call = &site->stack->calls[site->index];
    Dwarf_Die function = call->function;
    if (!site_call(site, &called) || !site_refers(&called, &origin) ||
        argument_origin_is(&origin, &function) ||
        dwarf_entrypc(&function, &entered) != 0 ||
        !argument_site_vaddr(call[1].image, &origin, out_called))
        return false;
    *out_entered = entered;
    return *out_called != entered;
}

bool argument_site_is_tail(const struct argument_stack *stack, size_t index)
{
    // No register has this number, so that the cache has room for the answer.
    enum { TAIL = UNWIND_REGISTERS };
    const struct argument_site site = { .stack = stack, .index = index };
    // The images are compared first: the caller of main or of a thread's function is in
    // the C library, whose functions take long to list.
    if (!site_may_follow(&site) ||
        stack->calls[index].image != stack->calls[index + 1].image ||
        !argument_stack_resolve(stack, index + 1))
        return false;
    const struct argument_call *caller = &stack->calls[index + 1];
    const void *callee = stack->calls[index].function.addr;
    uint64_t returns = caller->address - caller->image->bias;
    struct argument_passed *kept =
        argument_image_passed(caller->image, callee, returns, TAIL);
    if (kept != NULL && kept->callee == callee && kept->returns == returns &&
        kept->reg == TAIL)
        return kept->said;
    uint64_t called;
    uint64_t entered;
    bool tail = argument_site_other(&site, &called, &entered);
    if (kept != NULL)
        *kept = (struct argument_passed){
            .callee = callee, .returns = returns, .reg = TAIL, .said = tail
        };
    return tail;
}
