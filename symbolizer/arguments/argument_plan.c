// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_plan.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "symbolizer/arguments/argument_inline.h"
#include "symbolizer/files/die_walk.h"
#include "symbolizer/types/type_name.h"
#include "symbolizer/values/type_value.h"

enum {
    BLOCKS_MAX = 64, // the greatest depth of nested blocks
    PLAN_HASHES = 256,
};

// planning is a plan being made.
struct planning {
    struct argument_plan *plan;
    const struct argument_call *call;
    bool inlined;
    uint8_t scope; // of the block whose variables are listed
};

static void plan_destroy(struct argument_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        json_decref(plan->variables[i].index);
        json_decref(plan->variables[i].shown_name);
        json_decref(plan->variables[i].shown_type);
    }
    free(plan->variables);
    free(plan);
}

static void plans_free(struct argument_image *image)
{
    for (size_t i = 0; i < PLAN_HASHES; i++) {
        struct argument_plan *plan = image->plans[i];
        while (plan != NULL) {
            struct argument_plan *next = plan->next;
            plan_destroy(plan);
            plan = next;
        }
    }
    free(image->plans);
    image->plans = NULL;
}

// plan_locate finds where an entry's attribute says that something is at the pc.
static enum ch_status plan_locate(const struct planning *p, Dwarf_Die *die,
                                  unsigned name, struct argument_planned *out)
{
    // A static variable has its location in the entry that others are instances of.
    if (!argument_origin_location(die, name, &out->attribute))
        return CH_END;
    out->listed = dwarf_whatform(&out->attribute) != DW_FORM_exprloc;
    if (dwarf_getlocation_addr(&out->attribute, p->call->vaddr, &out->ops, &out->count,
                               1) != 1 ||
        out->count == 0)
        return CH_ERR_NOT_FOUND;
    // A pointer to an object that was optimized away.
    uint8_t atom = out->ops[0].atom;
    return atom == DW_OP_implicit_pointer || atom == DW_OP_GNU_implicit_pointer ? CH_END
                                                                                : CH_OK;
}

// plan_locate_passed finds in which register a parameter was passed: its location at
// the function's entry says so.
static void plan_locate_passed(const struct planning *p, Dwarf_Die *parameter,
                               struct argument_planned *out)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *ops;
    size_t count;
    Dwarf_Addr entry;
    Dwarf_Die function = p->call->function;
    out->passed = dwarf_entrypc(&function, &entry) == 0 &&
                  dwarf_attr(parameter, DW_AT_location, &attribute) != NULL &&
                  dwarf_getlocation_addr(&attribute, entry, &ops, &count, 1) == 1 &&
                  count == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31;
    if (out->passed)
        out->passed_in = (uint8_t)(ops[0].atom - DW_OP_reg0);
}

// plan_set_type finds the type of a variable, and what follows from it.
static void plan_set_type(const struct planning *p, Dwarf_Die *die,
                          struct argument_planned *out)
{
    struct type_image *types = &p->call->image->types;
    const struct type_table *table = &types->table;
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    if (type_dwarf_add_type_of(&types->dwarf_types, die, TYPE_DWARF_VALUE,
                               &out->type) != CH_OK)
        out->type = TYPE_UNKNOWN_INDEX;
    out->reference = table->types[type_strip(table, out->type)].reference;
    uint64_t plain = type_value_bytes_size(table, out->type);
    out->plain = plain <= ARGUMENT_PLAIN_MAX ? (uint16_t)plain : 0;
    if (out->type != TYPE_UNKNOWN_INDEX && type_name(table, out->type, &name) == CH_OK)
        out->shown_type = json_string(name.bytes);
}

static void plan_add(struct planning *p, Dwarf_Die *die)
{
    struct argument_plan *plan = p->plan;
    if (!array_reserve(&plan->variables, &plan->capacity, plan->count,
                       sizeof(plan->variables[0])))
        return;
    struct argument_planned variable = { .name = dwarf_diename(die),
                                         .index = json_integer((json_int_t)plan->count),
                                         .local = plan->kind == ARGUMENT_PLAN_LOCALS,
                                         .scope = p->scope };
    if (variable.name != NULL)
        variable.shown_name = json_string(variable.name);
    plan_set_type(p, die, &variable);
    variable.found = plan_locate(p, die, DW_AT_location, &variable);
    if (variable.found == CH_END && variable.count == 0 &&
        dwarf_attr_integrate(die, DW_AT_const_value, &variable.attribute) != NULL) {
        variable.constant = true;
        variable.found = CH_OK;
    }
    if (plan->kind == ARGUMENT_PLAN_PARAMETERS && !p->inlined)
        plan_locate_passed(p, die, &variable);
    plan->variables[plan->count++] = variable;
}

// plan_find_instance finds the child of inlined that is an instance of parameter.
static bool plan_find_instance(Dwarf_Die *inlined, const Dwarf_Die *parameter,
                               Dwarf_Die *out)
{
    Dwarf_Die child;
    int more = dwarf_child(inlined, &child);
    while (more == 0) {
        if (dwarf_tag(&child) == DW_TAG_formal_parameter &&
            argument_origin_of(&child).addr == parameter->addr) {
            *out = child;
            return true;
        }
        more = die_walk_next(&child);
    }
    return false;
}

// plan_parameters lists the parameters of a function, or the instances of them in an
// inlined call. One that was optimized away in this instance still has its name and
// type.
static void plan_parameters(struct planning *p, Dwarf_Die *scope)
{
    Dwarf_Die function = p->inlined ? argument_origin_of(scope) : *scope;
    Dwarf_Die parameter;
    int more = dwarf_child(&function, &parameter);
    while (more == 0) {
        Dwarf_Die instance = parameter;
        if (dwarf_tag(&parameter) == DW_TAG_formal_parameter) {
            if (p->inlined)
                (void)plan_find_instance(scope, &parameter, &instance);
            plan_add(p, &instance);
        }
        more = die_walk_next(&parameter);
    }
}

static void plan_block(struct planning *p, Dwarf_Die *block)
{
    Dwarf_Die child;
    int more = dwarf_child(block, &child);
    while (more == 0) {
        // A declaration is of a variable outside of the function.
        if (dwarf_tag(&child) == DW_TAG_variable && dwarf_diename(&child) != NULL &&
            !dwarf_hasattr_integrate(&child, DW_AT_declaration) &&
            p->plan->count < ARGUMENT_LOCALS_MAX)
            plan_add(p, &child);
        more = die_walk_next(&child);
    }
}

// plan_locals lists the variables of the blocks around the pc, the innermost's first.
static void plan_locals(struct planning *p, const Dwarf_Die *scope)
{
    Dwarf_Die blocks[BLOCKS_MAX];
    size_t depth = 1;
    blocks[0] = *scope;
    while (depth < BLOCKS_MAX &&
           argument_inline_enter(&blocks[depth - 1], p->call->vaddr, &blocks[depth]) &&
           dwarf_tag(&blocks[depth]) == DW_TAG_lexical_block)
        depth++;
    while (depth > 0) {
        p->scope = (uint8_t)--depth;
        plan_block(p, &blocks[depth]);
    }
}

static void plan_base(struct planning *p, Dwarf_Die *scope)
{
    struct argument_planned base = { 0 };
    struct argument_plan *plan = p->plan;
    base.found = plan_locate(p, scope, DW_AT_frame_base, &base);
    if (array_reserve(&plan->variables, &plan->capacity, 0, sizeof(base)))
        plan->variables[plan->count++] = base;
}

static void plan_make(struct planning *p, Dwarf_Die scope)
{
    switch (p->plan->kind) {
    case ARGUMENT_PLAN_PARAMETERS:
        plan_parameters(p, &scope);
        return;
    case ARGUMENT_PLAN_LOCALS:
        plan_locals(p, &scope);
        return;
    case ARGUMENT_PLAN_BASE:
        plan_base(p, &scope);
        return;
    }
}

const struct argument_plan *argument_plan_find(const struct argument_call *call,
                                               const Dwarf_Die *inlined,
                                               enum argument_plan_kind kind)
{
    struct argument_image *image = call->image;
    const Dwarf_Die *scope = inlined != NULL ? inlined : &call->function;
    uint64_t hash = ((uint64_t)(uintptr_t)scope->addr ^ call->vaddr << 5 ^ kind) *
                    UINT64_C(0x9e3779b97f4a7c15);
    if (image->plans == NULL)
        image->plans = calloc(PLAN_HASHES, sizeof(struct argument_plan *));
    image->free_plans = plans_free;
    if (image->plans == NULL)
        return NULL;
    struct argument_plan **first = &image->plans[hash >> 32 & (PLAN_HASHES - 1)];
    for (struct argument_plan *plan = *first; plan != NULL; plan = plan->next)
        if (plan->scope == scope->addr && plan->vaddr == call->vaddr &&
            plan->kind == kind)
            return plan;
    struct argument_plan *plan = calloc(1, sizeof(*plan));
    if (plan == NULL)
        return NULL;
    *plan = (struct argument_plan){
        .scope = scope->addr, .vaddr = call->vaddr, .kind = kind, .next = *first
    };
    *first = plan;
    struct planning planning = { .plan = plan,
                                 .call = call,
                                 .inlined = inlined != NULL };
    plan_make(&planning, *scope);
    return plan;
}
