// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/fault/argument_scope.h"

#include <dwarf.h>

#include "symbolizer/arguments/argument_inline.h"

enum { SCOPE_BLOCKS_MAX = 64 };

// scope_reading is a scope being read.
struct scope_reading {
    struct argument_scope *scope;
    struct argument_lookup lookup;
    size_t frame; // of the function whose variables are read
};

// scope_place finds where a variable is. False: it is in no single register or place in
// memory.
static bool scope_place(struct scope_reading *r, Dwarf_Die *die,
                        struct argument_variable *out)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *ops;
    size_t count;
    struct argument_location location;
    if (dwarf_attr_integrate(die, DW_AT_location, &attribute) == NULL ||
        dwarf_getlocation_addr(&attribute, r->scope->vaddr, &ops, &count, 1) != 1 ||
        count == 0)
        return false;
    if (count == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31) {
        out->in_register = true;
        out->place = (uint64_t)(ops[0].atom - DW_OP_reg0);
        return true;
    }
    r->lookup.context.attribute = &attribute;
    enum ch_status status =
        argument_expression_evaluate(&r->lookup.context, ops, count, &location);
    r->lookup.context.attribute = NULL;
    if (status != CH_OK || location.kind != ARGUMENT_IN_MEMORY)
        return false;
    out->place = location.value;
    return true;
}

static void scope_add(struct scope_reading *r, Dwarf_Die *die, enum argument_role role)
{
    struct argument_scope *scope = r->scope;
    struct type_image *types = &scope->call->image->types;
    struct argument_variable variable = { .name = dwarf_diename(die),
                                          .role = role,
                                          .frame = r->frame };
    if (variable.name == NULL || scope->count == ARGUMENT_SCOPE_MAX ||
        !scope_place(r, die, &variable) ||
        type_dwarf_add_type_of(&types->dwarf_types, die, TYPE_DWARF_WHOLE,
                               &variable.type) != CH_OK ||
        type_size(&types->table, variable.type, &variable.size) != CH_OK)
        return;
    scope->variables[scope->count++] = variable;
}

static void scope_add_children(struct scope_reading *r, const Dwarf_Die *block)
{
    Dwarf_Die of = *block;
    Dwarf_Die child;
    for (int more = dwarf_child(&of, &child); more == 0;
         more = dwarf_siblingof(&child, &child)) {
        if (dwarf_tag(&child) == DW_TAG_variable)
            scope_add(r, &child, ARGUMENT_LOCAL);
        if (dwarf_tag(&child) == DW_TAG_formal_parameter)
            scope_add(r, &child, ARGUMENT_PARAMETER);
    }
}

// scope_add_globals adds the variables of the function's unit.
static void scope_add_globals(struct scope_reading *r)
{
    Dwarf_Die function = r->scope->call->function;
    Dwarf_Die unit;
    Dwarf_Die child;
    if (dwarf_diecu(&function, &unit, NULL, NULL) == NULL)
        return;
    for (int more = dwarf_child(&unit, &child); more == 0;
         more = dwarf_siblingof(&child, &child))
        if (dwarf_tag(&child) == DW_TAG_variable)
            scope_add(r, &child, ARGUMENT_GLOBAL);
}

// scope_add_blocks adds the variables of the blocks around the instruction, from the
// innermost to the function.
static void scope_add_blocks(struct scope_reading *r, const json_t *frames)
{
    Dwarf_Die inlined[ARGUMENT_INLINE_MAX];
    Dwarf_Die blocks[SCOPE_BLOCKS_MAX];
    size_t frame_of[SCOPE_BLOCKS_MAX];
    const struct argument_call *call = r->scope->call;
    // The report has frames for the calls inlined at the pc; another instruction of the
    // function may be in fewer of them.
    size_t count = argument_inline_find(call, frames, inlined);
    size_t depth = 1;
    size_t left = count;
    blocks[0] = call->function;
    frame_of[0] = call->index;
    while (depth < SCOPE_BLOCKS_MAX &&
           argument_inline_enter(&blocks[depth - 1], r->scope->vaddr, &blocks[depth])) {
        frame_of[depth] = frame_of[depth - 1];
        if (dwarf_tag(&blocks[depth]) == DW_TAG_inlined_subroutine) {
            if (left == 0 || inlined[left - 1].addr != blocks[depth].addr)
                break;
            frame_of[depth] = argument_inline_end(call, frames) - count + --left;
        }
        depth++;
    }
    while (depth > 0) {
        r->frame = frame_of[--depth];
        scope_add_children(r, &blocks[depth]);
    }
    r->frame = call->index;
}

bool argument_scope_read(struct argument_scope *scope,
                         const struct argument_stack *stack, size_t index,
                         uint64_t vaddr, const json_t *frames)
{
    struct scope_reading reading = { .scope = scope };
    struct argument_list list = { 0 };
    scope->stack = stack;
    scope->call = &stack->calls[index];
    scope->vaddr = vaddr;
    scope->count = 0;
    if (!argument_stack_resolve(stack, index))
        return false;
    argument_lookup_begin(&reading.lookup, stack, index, &list);
    scope_add_blocks(&reading, frames);
    scope_add_globals(&reading);
    return true;
}

const struct argument_variable *
argument_scope_in_register(const struct argument_scope *scope, uint8_t reg)
{
    for (size_t i = 0; i < scope->count; i++)
        if (scope->variables[i].in_register && scope->variables[i].place == reg)
            return &scope->variables[i];
    return NULL;
}

const struct argument_variable *argument_scope_at(const struct argument_scope *scope,
                                                  uint64_t address, uint64_t bytes)
{
    for (size_t i = 0; i < scope->count; i++) {
        const struct argument_variable *variable = &scope->variables[i];
        if (!variable->in_register && address >= variable->place &&
            address - variable->place < variable->size &&
            bytes <= variable->size - (address - variable->place))
            return variable;
    }
    return NULL;
}
