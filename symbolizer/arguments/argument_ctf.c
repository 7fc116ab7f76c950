// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_ctf.h"

#include <stdint.h>
#include <string.h>

#include "symbolizer/arguments/argument_entry.h"
#include "symbolizer/arguments/argument_value.h"
#include "symbolizer/types/type_members.h"
#include "symbolizer/types/type_table.h"

enum { GENERAL_MAX = 6, VECTORS_MAX = 8, EIGHTBYTE_BITS = 64 };

// need is what an argument occupies.
struct need {
    bool unknown;
    bool memory;
    unsigned general;
    unsigned vectors;
    uint64_t size;
    bool wide; // aligned to 16 bytes
};

// classify_scalar classifies a value of type, which is no aggregate.
static struct need classify_scalar(const struct type *type)
{
    struct need need = { .size = type->size };
    bool is_complex = (type->encoding & TYPE_COMPLEX) != 0;
    if (type->kind == TYPE_FLOAT) {
        need.memory = type->size > (is_complex ? 16 : 8);
        need.wide = type->size == 16 && !is_complex;
        need.vectors = type->size > 8 && !need.memory ? 2 : 1;
        need.unknown = type->size > 16;
        return need;
    }
    need.unknown = type->size == 0 || type->size > 16;
    need.general = type->size > 8 ? 2 : 1;
    need.wide = type->size == 16;
    return need;
}

// abi_add_member adds a member to the classes of a small structure's eightbytes. False:
// its kind cannot be classified here.
static bool abi_add_member(const struct type_table *table,
                           const struct type_member *member, bool general[2],
                           bool *unaligned)
{
    uint32_t index = type_strip(table, member->part->type);
    uint64_t bits = type_size_bits(table, index);
    while (table->types[index].kind == TYPE_ARRAY)
        index = type_strip(table, table->types[index].target);
    const struct type *type = &table->types[index];
    bool is_bits = type->kind == TYPE_SLICE;
    if (member->opens)
        return true; // its members follow
    if (bits == 0 || type->kind == TYPE_STRUCT || type->kind == TYPE_UNION ||
        type->kind == TYPE_UNKNOWN || type->size > 8)
        return false;
    if (!is_bits && member->offset_bits % (type->size * 8) != 0)
        *unaligned = true;
    for (uint64_t at = member->offset_bits / EIGHTBYTE_BITS;
         at <= (member->offset_bits + bits - 1) / EIGHTBYTE_BITS && at < 2; at++)
        general[at] = general[at] || type->kind != TYPE_FLOAT;
    return true;
}

static struct need classify_structure(const struct type_table *table,
                                      const struct type *type)
{
    struct need need = { .size = type->size };
    struct type_members members;
    struct type_member member;
    bool general[2] = { false, false };
    bool unaligned = false;
    type_members_init(&members, table, type);
    while (type_members_next(&members, &member))
        if (!abi_add_member(table, &member, general, &unaligned))
            need.unknown = true;
    // A large structure is always passed in memory, but its alignment depends on its
    // members.
    need.memory = type->size > 16 || unaligned;
    if (need.memory || need.unknown || type->size == 0) {
        need.unknown = need.unknown && !need.memory;
        return need;
    }
    unsigned eightbytes = type->size > 8 ? 2 : 1;
    for (unsigned i = 0; i < eightbytes; i++) {
        need.general += general[i];
        need.vectors += !general[i];
    }
    return need;
}

static struct need classify_type(const struct type_table *table, uint32_t index)
{
    const struct type *type = &table->types[type_strip(table, index)];
    switch (type->kind) {
    case TYPE_STRUCT:
    case TYPE_UNION:
        return classify_structure(table, type);
    case TYPE_INTEGER:
    case TYPE_ENUM:
    case TYPE_POINTER:
    case TYPE_FLOAT:
        return classify_scalar(type);
    default:
        return (struct need){ .unknown = true };
    }
}

static bool is_void(const struct type_table *table, uint32_t index)
{
    const struct type *type = &table->types[type_strip(table, index)];
    return type->kind == TYPE_INTEGER && type->size == 0;
}

void argument_abi_init(struct argument_abi *abi, const struct type_table *table,
                       uint32_t result)
{
    *abi = (struct argument_abi){ .table = table };
    if (is_void(table, result))
        return;
    struct need need = classify_type(table, result);
    const struct type *type = &table->types[type_strip(table, result)];
    abi->lost = need.unknown;
    if (need.memory && type->kind != TYPE_FLOAT) // the caller passes its address
        abi->general = 1;
}

struct argument_abi_place argument_abi_next(struct argument_abi *abi, uint32_t type)
{
    static const uint8_t registers[GENERAL_MAX] = { 5, 4, 1, 2, 8, 9 };
    struct argument_abi_place place = { .kind = ARGUMENT_UNPLACED };
    struct need need = classify_type(abi->table, type);
    abi->lost = abi->lost || need.unknown;
    if (abi->lost)
        return place;
    bool fits = !need.memory && abi->general + need.general <= GENERAL_MAX &&
                abi->vectors + need.vectors <= VECTORS_MAX;
    if (!fits) {
        uint64_t alignment = need.wide ? 16 : 8;
        abi->stack = (abi->stack + alignment - 1) / alignment * alignment;
        place.kind = ARGUMENT_ON_STACK;
        place.offset = abi->stack;
        abi->stack += (need.size + 7) / 8 * 8;
        return place;
    }
    if (need.general == 1 && need.vectors == 0) {
        place.kind = ARGUMENT_GENERAL;
        place.reg = registers[abi->general];
    } else {
        place.kind = need.general == 0 ? ARGUMENT_VECTOR : ARGUMENT_SPLIT;
    }
    abi->general += need.general;
    abi->vectors += need.vectors;
    return place;
}

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

static enum ch_status find_argument_on_stack(const struct lookup *l, uint64_t offset,
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
        status = find_argument_on_stack(l, place->offset, argument);
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
        const struct type_part *part = &table->parts[function->first_part + i];
        struct argument argument = { .type = part->type };
        if (part->name != NULL && part->name[0] != 0)
            argument.name = part->name;
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
    // argument_abi_next follows the ABI of x86-64.
    if (stack->arch->id != UNWIND_ARCH_AMD64 ||
        (call->image->types.source != TYPE_FROM_CTF &&
         call->image->types.source != TYPE_FROM_BTF) ||
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
