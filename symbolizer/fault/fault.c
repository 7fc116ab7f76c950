// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/fault/fault.h"

#include <ctype.h>
#include <string.h>

#include "base/register_name.h"
#include "report/file/held_file.h"
#include "report/value/report.h"

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
    return stack->count != 0 &&
           address >= stack->calls[0].frame.registers.value[stack->arch->sp] &&
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
