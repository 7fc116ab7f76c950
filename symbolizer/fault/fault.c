// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/fault/fault.h"

#include <ctype.h>
#include <string.h>

#include "base/register_name.h"
#include "report/file/held_file.h"
#include "report/value/report.h"
#include "symbolizer/fault/argument_path.h"

bool fault_agrees(const struct fault *f)
{
    uint64_t mask =
        f->bytes < FAULT_WORD_BYTES ? (UINT64_C(1) << (8 * f->bytes)) - 1 : ~0ull;
    return !f->named.has_value || ((f->named.value ^ f->value) & mask) == 0;
}

bool fault_name_register(struct fault *f, size_t index, uint8_t reg, uint64_t value)
{
    f->value = value;
    f->bytes = FAULT_WORD_BYTES;
    return argument_trace_register(&f->trace, index, reg, FAULT_WORD_BYTES,
                                   &f->named) &&
           !f->named.is_address && fault_agrees(f);
}

const struct type *fault_type(const struct argument_named *named)
{
    static const struct type pointer = { .kind = TYPE_POINTER };
    const struct type_table *table = &named->call->image->types.table;
    const struct type *type = &table->types[type_strip(table, named->type)];
    return argument_is_returned(named) || type->kind == TYPE_UNION ? &pointer : type;
}

const char *fault_register_name(const struct fault *f, uint8_t number)
{
    return f->trace.stack->arch->id == UNWIND_ARCH_AMD64
               ? register_name_amd64(number, FAULT_WORD_BYTES)
               : register_name_aarch64(number);
}

// fault_is_led_from returns true if the variable is a null pointer to an object that
// has what was accessed, after its first bytes: these are at 0, which programs write to
// in order to crash, too.
static bool fault_is_led_from(const struct fault *f,
                              const struct argument_variable *variable)
{
    const struct type_table *table = &f->innermost->image->types.table;
    const struct type *pointer = &table->types[type_strip(table, variable->type)];
    const json_t *access = json_object_get(f->crash, "access");
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    struct argument_part part = { type_strip(table, pointer->target), 0,
                                  (uint64_t)report_integer(access, "size", 0), false };
    return variable->is_null && pointer->kind == TYPE_POINTER &&
           report_address(access, "address", &part.offset) && part.offset != 0 &&
           argument_path_append(table, &part, "->", &path);
}

bool fault_take_variable(const struct argument_call *call,
                         const struct argument_variable *variable, uint64_t value,
                         struct argument_named *out)
{
    *out = (struct argument_named){ .expression = out->expression,
                                    .call = call,
                                    .frame = variable->frame,
                                    .scale = 1,
                                    .value = value,
                                    .type = variable->type,
                                    .role = variable->role,
                                    .variable = true,
                                    .has_value = true };
    text_clear(&out->expression);
    text_append_string(&out->expression, variable->name);
    return text_ok(&out->expression);
}

// fault_may_be_constant returns true if a variable may be the null pointer that the
// compiler replaced by 0: it leads to what was accessed, or was passed to a library.
static bool fault_may_be_constant(const struct fault *f, size_t index,
                                  const struct argument_variable *variable)
{
    const struct type_table *table = &f->trace.scope.call->image->types.table;
    bool pointer = table->types[type_strip(table, variable->type)].kind == TYPE_POINTER;
    return index == 0
               ? fault_is_led_from(f, variable)
               : variable->is_null && pointer &&
                     !report_flag(json_array_get(f->trace.frames, variable->frame),
                                  "system");
}

bool fault_take_null(struct fault *f, size_t index, const struct argument_step *step)
{
    const struct argument_scope *scope = &f->trace.scope;
    const struct argument_variable *found = NULL;
    if (!argument_scope_read(&f->trace.scope, f->trace.stack, index, step->vaddr,
                             f->trace.frames))
        return false;
    for (size_t i = 0; i < scope->count; i++) {
        if (!fault_may_be_constant(f, index, &scope->variables[i]))
            continue;
        if (found != NULL && found->frame == scope->variables[i].frame)
            return false;
        found = found == NULL ? &scope->variables[i] : found;
    }
    f->value = 0;
    f->likely = true;
    return found != NULL && fault_take_variable(scope->call, found, 0, &f->named);
}

void fault_take_array(struct fault *f, struct argument_index *found)
{
    text_deinit(&f->array);
    f->array = found->array;
    f->elements = found->extent.count;
    f->container = found->extent.kind;
    f->likely = true;
    found->array = (struct text){ 0 };
}

// freed_is_text returns true if the eight bytes are characters, and maybe the end of a
// text after four of them.
static bool freed_is_text(const char bytes[static ARGUMENT_FREED_TEXT])
{
    enum { SHORTEST = 4 };
    size_t length = strlen(bytes);
    for (size_t i = 0; i < ARGUMENT_FREED_TEXT - 1; i++)
        if (i < length ? !isprint((unsigned char)bytes[i]) : bytes[i] != 0)
            return false;
    return length >= SHORTEST;
}

// freed_is_on_stack returns true if the address is in the frames of the crashed thread.
static bool freed_is_on_stack(const struct argument_stack *stack, uint64_t address)
{
    enum { SP = 7 };
    return stack->count != 0 && address >= stack->calls[0].frame.registers.value[SP] &&
           address < stack->calls[stack->count - 1].frame.cfa;
}

uint64_t argument_freed_size(const struct argument_stack *stack, uint64_t address)
{
    enum { ALIGNMENT = 16, HEAD = 8, FLAGS = 7, IS_MAPPED = 2, SMALLEST = 32 };
    uint64_t size;
    if (address % ALIGNMENT != 0 ||
        memory_read_word(stack->memory, address - HEAD, &size) != CH_OK)
        return 0;
    uint64_t bytes = size & ~(uint64_t)FLAGS;
    if (bytes < SMALLEST || bytes % ALIGNMENT != 0 ||
        !held_file_is_mapped(stack->held, address + bytes - ALIGNMENT - 1))
        return 0;
    return bytes - (size & IS_MAPPED ? 2 * HEAD : HEAD);
}

const char *argument_freed_state(const struct argument_stack *stack, uint64_t address,
                                 char text[static ARGUMENT_FREED_TEXT])
{
    enum { ALIGNMENT = 16, SIZE_OFFSET = 8 };
    const struct held_mapping *mapping = held_file_mapping(stack->held, address);
    char bytes[ARGUMENT_FREED_TEXT] = "";
    if (freed_is_on_stack(stack, address))
        return "stack";
    if (mapping != NULL && mapping->flags & HELD_OF_FILE)
        return "image";
    if (address % ALIGNMENT != 0)
        return "misaligned";
    if (memory_read(stack->memory, address - SIZE_OFFSET, bytes, SIZE_OFFSET) !=
            CH_OK ||
        !freed_is_text(bytes))
        return NULL;
    if (!stack->options->sanitize)
        memcpy(text, bytes, sizeof(bytes));
    return "text";
}
