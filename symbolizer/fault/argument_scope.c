// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/fault/argument_scope.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "report/value/report.h"
#include "symbolizer/arguments/argument_inline.h"
#include "symbolizer/arguments/argument_lookup.h"
#include "symbolizer/files/die_walk.h"
#include "symbolizer/names/demangle.h"
#include "symbolizer/names/plt_stubs.h"
#include "symbolizer/types/type_table.h"

enum { SCOPE_BLOCKS_MAX = 64 };

// scope_reading is a scope being read.
struct scope_reading {
    struct argument_scope *scope;
    struct argument_lookup lookup;
    const json_t *frames;
    size_t frame; // of the function whose variables are read
};

// scope_place finds where ops say that a variable is, or a part of it. False: it is in
// no single register or place in memory, nor just 0.
static bool scope_place(struct scope_reading *r, Dwarf_Op *ops, size_t count,
                        struct argument_variable *out)
{
    struct argument_location location;
    out->is_null = false;
    if (count == 0)
        return false;
    out->in_register =
        count == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31;
    if (out->in_register) {
        out->place = (uint64_t)(ops[0].atom - DW_OP_reg0);
        return true;
    }
    if (argument_expression_evaluate(&r->lookup.context, ops, count, &location) !=
        CH_OK)
        return false;
    out->is_null = location.kind == ARGUMENT_IS_VALUE && location.value == 0;
    out->place = location.value;
    return out->is_null || location.kind == ARGUMENT_IN_MEMORY;
}

// scope_add_parts adds the parts of a variable that each have a place of their own:
// compilers split structures. False: ops have no parts.
static bool scope_add_parts(struct scope_reading *r, Dwarf_Op *ops, size_t count,
                            const struct argument_variable *whole)
{
    struct argument_variable part = *whole;
    size_t begin = 0;
    part.is_part = true;
    for (size_t i = 0; i < count && ops[i].atom != DW_OP_bit_piece; i++) {
        if (ops[i].atom != DW_OP_piece)
            continue;
        part.size = ops[i].number;
        if (part.size > whole->size - part.offset)
            return true; // damaged
        if (r->scope->count < ARGUMENT_SCOPE_MAX &&
            scope_place(r, &ops[begin], i - begin, &part))
            r->scope->variables[r->scope->count++] = part;
        part.offset += part.size;
        begin = i + 1;
    }
    return begin != 0;
}

static void scope_add(struct scope_reading *r, Dwarf_Die *die, enum argument_role role)
{
    struct argument_scope *scope = r->scope;
    struct type_image *types = &scope->call->image->types;
    struct argument_variable variable = { .name = dwarf_diename(die),
                                          .role = role,
                                          .frame = r->frame };
    variable.system = report_flag(json_array_get(r->frames, r->frame), "system");
    Dwarf_Attribute attribute;
    Dwarf_Op *ops = NULL;
    size_t count = 0;
    Dwarf_Word constant;
    variable.is_null = role != ARGUMENT_GLOBAL &&
                       argument_origin_location(die, DW_AT_const_value, &attribute) &&
                       dwarf_formudata(&attribute, &constant) == 0 && constant == 0;
    if (variable.name == NULL || scope->count == ARGUMENT_SCOPE_MAX ||
        (!variable.is_null &&
         (!argument_origin_location(die, DW_AT_location, &attribute) ||
          dwarf_getlocation_addr(&attribute, scope->vaddr, &ops, &count, 1) != 1)) ||
        type_dwarf_add_type_of(&types->dwarf_types, die, TYPE_DWARF_WHOLE,
                               &variable.type) != CH_OK ||
        type_size(&types->table, variable.type, &variable.size) != CH_OK)
        return;
    r->lookup.context.attribute = &attribute;
    if (variable.is_null || (!scope_add_parts(r, ops, count, &variable) &&
                             scope_place(r, ops, count, &variable)))
        scope->variables[scope->count++] = variable;
    r->lookup.context.attribute = NULL;
}

static void scope_add_children(struct scope_reading *r, const Dwarf_Die *block)
{
    Dwarf_Die of = *block;
    Dwarf_Die child;
    for (int more = dwarf_child(&of, &child); more == 0; more = die_walk_next(&child)) {
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
    for (int more = dwarf_child(&unit, &child); more == 0; more = die_walk_next(&child))
        if (dwarf_tag(&child) == DW_TAG_variable)
            scope_add(r, &child, ARGUMENT_GLOBAL);
}

// scope_add_blocks adds the variables of the blocks around the instruction, from the
// innermost to the function.
static void scope_add_blocks(struct scope_reading *r)
{
    Dwarf_Die inlined[ARGUMENT_INLINE_MAX];
    Dwarf_Die blocks[SCOPE_BLOCKS_MAX];
    size_t frame_of[SCOPE_BLOCKS_MAX];
    const struct argument_call *call = r->scope->call;
    // The report has frames for the calls inlined at the pc; another instruction of the
    // function may be in fewer of them.
    size_t count = argument_inline_find(call, r->frames, inlined);
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
            frame_of[depth] = argument_inline_end(call, r->frames) - count + --left;
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
    struct scope_reading reading = { .scope = scope, .frames = frames };
    struct argument_list list = { 0 };
    scope->stack = stack;
    scope->call = &stack->calls[index];
    scope->vaddr = vaddr;
    scope->count = 0;
    if (!argument_stack_resolve(stack, index))
        return false;
    argument_lookup_begin(&reading.lookup, stack, index, &list);
    scope_add_blocks(&reading);
    scope_add_globals(&reading);
    return true;
}

// scope_says_more returns true if a variable in the same register says more than the
// one that was found: a pointer to an object more than one to void, and the program's
// more than a library's or than `this` of a call that was inlined.
static bool scope_says_more(const struct type_table *table,
                            const struct argument_variable *found,
                            const struct argument_variable *other)
{
    const uint32_t types[] = { type_strip(table, found->type),
                               type_strip(table, other->type) };
    const char *targets[2];
    for (int i = 0; i < 2; i++)
        targets[i] =
            table->types[type_strip(table, table->types[types[i]].target)].name;
    bool pointers = table->types[types[0]].kind == TYPE_POINTER &&
                    table->types[types[1]].kind == TYPE_POINTER;
    bool typed = strcmp(targets[0], "void") == 0 && strcmp(targets[1], "void") != 0;
    bool self = types[0] == types[1] && strcmp(found->name, "this") == 0;
    return pointers && (typed || self || (found->system && !other->system));
}

const struct argument_variable *
argument_scope_in_register(const struct argument_scope *scope, uint8_t reg)
{
    const struct argument_variable *found = NULL;
    for (size_t i = 0; i < scope->count; i++) {
        const struct argument_variable *variable = &scope->variables[i];
        if (variable->in_register && variable->place == reg &&
            (found == NULL ||
             scope_says_more(&scope->call->image->types.table, found, variable)))
            found = variable;
    }
    return found;
}

const struct argument_variable *argument_scope_at(const struct argument_scope *scope,
                                                  uint64_t address, uint64_t bytes)
{
    for (size_t i = 0; i < scope->count; i++) {
        const struct argument_variable *variable = &scope->variables[i];
        if (!variable->in_register && !variable->is_null &&
            address >= variable->place && address - variable->place < variable->size &&
            bytes <= variable->size - (address - variable->place))
            return variable;
    }
    return NULL;
}

// returned_append appends a name as sources have it. Compilers call functions whose
// names begin with two underscores, which are reserved for them.
static bool returned_append(const char *name, struct text *out)
{
    if (strncmp(name, "__", 2) == 0)
        return false;
    char *plain = demangle_name(name);
    text_append_string(out, plain != NULL ? plain : name);
    free(plain);
    return text_ok(out) && out->size != 0;
}

// returned_append_stub appends the name of the function that a stub jumps to.
static bool returned_append_stub(struct argument_image *image, uint64_t vaddr,
                                 struct text *out)
{
    static const char after[] = "@plt";
    struct plt_stubs stubs = { 0 };
    plt_stubs_read(&stubs, &image->types.files.image, &image->symbols);
    const struct plt_stub *stub = plt_stubs_find(&stubs, vaddr);
    size_t size = stub != NULL && stub->start == vaddr ? strlen(stub->raw_name) : 0;
    bool named = false;
    if (size > strlen(after)) {
        char *name = strndup(stub->raw_name, size - strlen(after));
        named = name != NULL && returned_append(name, out);
        free(name);
    }
    plt_stubs_deinit(&stubs);
    return named;
}

bool argument_returned_name(struct argument_image *image, uint64_t vaddr,
                            struct text *out)
{
    struct argument_symbol symbol;
    Dwarf_Die function;
    Dwarf_Addr entry;
    if (argument_image_symbol(image, vaddr, &symbol))
        return symbol.vaddr == vaddr && returned_append(symbol.name, out);
    if (argument_image_function(image, vaddr, &function) != CH_OK)
        return image->types.files.image.elf != NULL &&
               returned_append_stub(image, vaddr, out);
    const char *name = argument_origin_name(&function);
    return name != NULL && dwarf_entrypc(&function, &entry) == 0 && entry == vaddr &&
           returned_append(name, out);
}

// accessor_has_word returns true if the objects of the class that the function at vaddr
// is a member of are one word.
static bool accessor_has_word(struct argument_image *image, uint64_t vaddr)
{
    const struct type_table *table = &image->types.table;
    Dwarf_Die function;
    Dwarf_Die child;
    uint32_t type;
    uint64_t size;
    if (argument_image_function(image, vaddr, &function) != CH_OK)
        return false;
    int more = dwarf_child(&function, &child);
    while (more == 0 && dwarf_tag(&child) != DW_TAG_formal_parameter)
        more = die_walk_next(&child);
    if (more != 0 || type_dwarf_add_type_of(&image->types.dwarf_types, &child,
                                            TYPE_DWARF_WHOLE, &type) != CH_OK)
        return false;
    const struct type *self = &table->types[type_strip(table, type)];
    return self->kind == TYPE_POINTER &&
           type_size(table, type_strip(table, self->target), &size) == CH_OK &&
           size == sizeof(uint64_t);
}

bool argument_is_accessor(struct argument_image *image, uint64_t vaddr, bool whole,
                          bool *out_adds)
{
    static const struct {
        const char *end;
        const char *within;
    } names[] = { { "::operator->()", "" },
                  { "::operator->() const", "" },
                  { "::operator*()", "" },
                  { "::operator*() const", "" },
                  { "::get() const", "_ptr<" },
                  { "::operator[](unsigned long)", "std::vector<" },
                  { "::operator[](unsigned long) const", "std::vector<" } };
    enum { POINTERS = 5 }; // of names, before those of elements
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    bool is = false;
    if (!argument_returned_name(image, vaddr, &name))
        return false;
    size_t count = whole ? sizeof(names) / sizeof(names[0]) : POINTERS;
    for (size_t i = 0; i < count && !is; i++) {
        size_t size = strlen(names[i].end);
        const char *within = strstr(name.bytes, names[i].within);
        is = name.size > size &&
             strcmp(name.bytes + name.size - size, names[i].end) == 0 &&
             within != NULL && (i < POINTERS || within == name.bytes);
    }
    bool library = strncmp(name.bytes, "std::", strlen("std::")) == 0;
    *out_adds = is && whole && library;
    return is && (library || accessor_has_word(image, vaddr));
}

bool argument_is_returned(const struct argument_named *named)
{
    return named->role == ARGUMENT_RETURNED || named->role == ARGUMENT_LED_TO;
}

void argument_named_deinit(struct argument_named *named)
{
    text_deinit(&named->expression);
}

bool argument_named_number(const struct argument_named *index, int64_t *out)
{
    const struct type_table *table = &index->call->image->types.table;
    const struct type *type = &table->types[type_strip(table, index->type)];
    uint64_t size;
    if (!index->has_value || type_size(table, index->type, &size) != CH_OK ||
        size == 0 || size > sizeof(*out))
        return false;
    unsigned unused = (unsigned)(sizeof(*out) - size) * 8;
    uint64_t shifted = index->value << unused;
    *out = type->encoding & TYPE_SIGNED ? (int64_t)shifted >> unused
                                        : (int64_t)(shifted >> unused);
    return true;
}

bool argument_named_element(const struct argument_named *array, uint64_t bytes,
                            uint32_t *out)
{
    const struct type_table *table = &array->call->image->types.table;
    const struct type *type = &table->types[type_strip(table, array->type)];
    uint64_t size;
    if (array->scale != 1 || type->reference ||
        type->kind != (array->is_address ? TYPE_ARRAY : TYPE_POINTER))
        return false;
    *out = type_strip(table, type->target);
    return type_size(table, *out, &size) == CH_OK && size == bytes;
}
