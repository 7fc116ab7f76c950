// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_locals.h"

#include <dwarf.h>

#include "symbolizer/arguments/argument_inline.h"
#include "symbolizer/arguments/argument_lookup.h"

// BLOCKS_MAX is the greatest depth of nested blocks.
enum { BLOCKS_MAX = 64 };

static void locals_add_variable(struct argument_lookup *l, Dwarf_Die *variable,
                                struct argument_list *out)
{
    struct type_dwarf *types = &l->call->image->types.dwarf_types;
    struct argument argument = { .name = dwarf_diename(variable) };
    // A declaration is of a variable outside of the function.
    if (argument.name == NULL || dwarf_hasattr_integrate(variable, DW_AT_declaration) ||
        json_array_size(out->all) >= ARGUMENT_LOCALS_MAX)
        return;
    if (type_dwarf_add_type_of(types, variable, &argument.type) != CH_OK)
        argument.type = TYPE_UNKNOWN_INDEX;
    enum ch_status status = argument_lookup_now(l, variable, &argument);
    argument_lookup_add(out, &argument, status);
}

static void locals_add_block(struct argument_lookup *l, Dwarf_Die *block,
                             struct argument_list *out)
{
    Dwarf_Die child;
    int more = dwarf_child(block, &child);
    while (more == 0) {
        if (dwarf_tag(&child) == DW_TAG_variable)
            locals_add_variable(l, &child, out);
        more = dwarf_siblingof(&child, &child);
    }
}

void argument_locals_list(const struct argument_stack *stack, size_t index,
                          const Dwarf_Die *inlined, struct argument_list *out)
{
    const struct argument_call *call = &stack->calls[index];
    struct argument_lookup l;
    Dwarf_Die blocks[BLOCKS_MAX];
    size_t depth = 1;
    if (!call->has_function)
        return;
    argument_lookup_begin(&l, stack, index, out);
    l.inlined = inlined != NULL;
    blocks[0] = inlined != NULL ? *inlined : call->function;
    while (depth < BLOCKS_MAX &&
           argument_inline_enter(&blocks[depth - 1], call->vaddr, &blocks[depth]) &&
           dwarf_tag(&blocks[depth]) == DW_TAG_lexical_block)
        depth++;
    while (depth > 0)
        locals_add_block(&l, &blocks[--depth], out);
}
