// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_ctf.h"

#include <string.h>

#include "symbolizer/arguments/argument_abi.h"
#include "symbolizer/arguments/argument_entry.h"
#include "symbolizer/arguments/argument_value.h"

// lookup is the call whose arguments are looked up.
struct lookup {
    const struct argument_stack *stack;
    const struct argument_call *call;
    size_t index;
    bool at_entry;
};

// find_signature finds the type of the function called name. If there are several that
// differ, none is used, and reason says why.
static uint32_t find_signature(const struct type_table *table, const char *name,
                               const char **reason)
{
    uint32_t found = TYPE_UNKNOWN_INDEX;
    for (uint32_t i = 0; i < table->symbol_count; i++) {
        const struct type_symbol *symbol = &table->symbols[i];
        if (strcmp(symbol->name, name) != 0 ||
            table->types[symbol->type].kind != TYPE_FUNCTION || symbol->type == found)
            continue;
        if (found != TYPE_UNKNOWN_INDEX)
            *reason = "ambiguous-symbol";
        else
            found = symbol->type;
    }
    return found;
}

// why_not_said says why the signature of a name may not be that of the function.
static const char *why_not_said(struct argument_image *image, const char *name)
{
    // Functions that compilers derive from another have different arguments, and a dot
    // in their names.
    if (strchr(name, '.') != NULL)
        return "clone";
    return argument_image_is_unique(image, name) ? NULL : "ambiguous-symbol";
}

static void set_found(struct argument *argument, const char *source,
                      const char *confidence)
{
    argument->source = source;
    argument->confidence = confidence;
}

static enum ch_status argument_ctf_take(const struct lookup *l,
                                        struct argument *argument,
                                        const struct argument_location *location)
{
    return argument_value_make(l->stack, l->call, location, argument,
                               ARGUMENT_AT_ENTRY);
}

// find_in_register looks for the argument that was passed in a register.
static enum ch_status find_in_register(const struct lookup *l, uint8_t reg,
                                       struct argument *argument)
{
    const struct argument_location natural = { .kind = ARGUMENT_IN_REGISTER,
                                               .value = reg };
    struct argument_entry entry;
    uint64_t size;
    if (l->at_entry && argument_frame_knows(&l->call->frame, reg)) {
        set_found(argument, "abi-register", "proved");
        return argument_ctf_take(l, argument, &natural);
    }
    enum ch_status status = argument_entry_find(l->stack, l->index, reg, &entry);
    if (status != CH_OK)
        return status;
    if (type_size(&l->call->image->types.table, argument->type, &size) != CH_OK ||
        size > entry.bytes)
        return CH_ERR_NOT_FOUND;
    set_found(argument, entry.source, "proved");
    return argument_ctf_take(l, argument, &entry.location);
}

static enum ch_status find_on_stack(const struct lookup *l, uint64_t offset,
                                    struct argument *argument)
{
    const struct argument_location location = { .kind = ARGUMENT_IN_MEMORY,
                                                .value = l->call->frame.cfa + offset };
    if (l->call->frame.cfa == 0)
        return CH_ERR_NOT_FOUND;
    // The function may have reused the location.
    set_found(argument, "abi-stack", l->at_entry ? "proved" : "likely");
    return argument_ctf_take(l, argument, &location);
}

static void argument_ctf_find(const struct lookup *l,
                              const struct argument_abi_place *place,
                              struct argument *argument)
{
    enum ch_status status = CH_ERR_NOT_FOUND;
    const char *reason = "clobbered";
    if (place->kind == ARGUMENT_GENERAL)
        status = find_in_register(l, place->reg, argument);
    if (place->kind == ARGUMENT_ON_STACK)
        status = find_on_stack(l, place->offset, argument);
    if (place->kind == ARGUMENT_SPLIT)
        reason = "aggregate-split";
    if (place->kind == ARGUMENT_UNPLACED)
        reason = "ambiguous-type";
    if (status == CH_OK)
        return;
    set_found(argument, "none", "unavailable");
    argument->reason = reason;
}

static void list_signature(const struct lookup *l, uint32_t signature,
                           const char *reason, struct argument_list *out)
{
    const struct type_table *table = &l->call->image->types.table;
    const struct type *function = &table->types[signature];
    struct argument_abi abi;
    argument_abi_init(&abi, table, function->target);
    for (uint32_t i = 0; i < function->part_count; i++) {
        struct argument argument = { .type =
                                         table->parts[function->first_part + i].type };
        struct argument_abi_place place = argument_abi_next(&abi, argument.type);
        if (reason == NULL) {
            argument_ctf_find(l, &place, &argument);
        } else {
            set_found(&argument, "none", "unavailable");
            argument.reason = reason;
        }
        argument_list_add(out, &argument);
    }
}

bool argument_ctf_list(const struct argument_stack *stack, size_t index,
                       struct argument_list *out)
{
    const struct argument_call *call = &stack->calls[index];
    struct argument_symbol symbol;
    // The ABI of argument_abi.h is x86-64's.
    if (stack->arch->id != UNWIND_ARCH_AMD64 ||
        call->image->types.source != TYPE_FROM_CTF ||
        !argument_entry_symbol(call, &symbol))
        return false;
    const char *reason = why_not_said(call->image, symbol.name);
    const struct type_table *table = &call->image->types.table;
    uint32_t signature = find_signature(table, symbol.name, &reason);
    if (signature == TYPE_UNKNOWN_INDEX)
        return false;
    const struct lookup l = { .stack = stack,
                              .call = call,
                              .index = index,
                              .at_entry = call->frame.activation &&
                                          call->vaddr == symbol.vaddr };
    argument_list_begin(out, stack, call->image);
    list_signature(&l, signature, reason, out);
    return true;
}
