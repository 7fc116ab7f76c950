// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_value.h"

#include <string.h>

#include "symbolizer/values/layout.h"
#include "symbolizer/values/type_value.h"

// NOWHERE is the temporary address of bytes that are not in memory. It is in the
// kernel's half of the address space, where no program has memory.
#define NOWHERE 0xffff800000000000u

// loose is memory with a few extra bytes.
struct loose {
    const struct memory_reader *under;
    uint8_t bytes[ARGUMENT_PLAIN_MAX];
    size_t size;
};

// read_loose is a memory_read_fn.
static size_t read_loose(void *source, uint64_t address, void *to, size_t length)
{
    const struct loose *loose = source;
    if (address < NOWHERE || address - NOWHERE >= loose->size)
        return loose->under->read(loose->under->source, address, to, length);
    size_t at = (size_t)(address - NOWHERE);
    size_t count = loose->size - at < length ? loose->size - at : length;
    memcpy(to, loose->bytes + at, count);
    return count;
}

// value_find_function finds the function at an address, if it is in the image.
static bool value_find_function(void *context, uint64_t address, Dwarf_Die *out)
{
    struct argument_image *image = context;
    return argument_image_function(image, address - image->bias, out) == CH_OK;
}

// value_make makes the value of size bytes at an address, or of loose ones.
static json_t *value_make(const struct argument_stack *stack,
                          const struct type_table *table, struct argument_image *image,
                          struct loose *loose, const struct argument *argument,
                          uint64_t address)
{
    const struct layout_image code = { .bias = image != NULL ? image->bias : 0,
                                       .find_function = value_find_function,
                                       .context = image };
    struct type_dwarf *dwarf =
        image != NULL && image->types.dwarf != NULL ? &image->types.dwarf_types : NULL;
    const struct memory_reader reader = { .read = read_loose, .source = loose };
    const struct type_value how = { .table = table,
                                    .memory = &reader,
                                    .dwarf = dwarf,
                                    .held = stack->held,
                                    .image = dwarf != NULL ? &code : NULL,
                                    .cut = stack->held != NULL,
                                    .home = stack->options->home,
                                    .sanitize = stack->options->sanitize };
    return type_value_make(&how, argument->type, address,
                           argument->name != NULL ? argument->name : "");
}

json_t *argument_value_of_plain(const struct argument_stack *stack,
                                const struct type_table *table,
                                const struct argument *argument,
                                enum argument_when when)
{
    struct loose loose = { .under = stack->memory, .size = argument->planned->plain };
    memcpy(loose.bytes, argument->plain[when], loose.size);
    return value_make(stack, table, NULL, &loose, argument, NOWHERE);
}

// value_take_plain takes the bytes of a plain value. False: they are not all there.
static bool value_take_plain(const struct argument_stack *stack,
                             const struct argument_call *call,
                             const struct argument_location *location,
                             struct argument *argument, enum argument_when when)
{
    const struct argument_planned *planned = argument->planned;
    argument->is_plain[when] =
        planned != NULL && planned->plain != 0 &&
        argument_location_bytes(location, &call->frame, stack->memory,
                                argument->plain[when], planned->plain) == CH_OK;
    return argument->is_plain[when];
}

enum ch_status argument_value_make(const struct argument_stack *stack,
                                   const struct argument_call *call,
                                   const struct argument_location *location,
                                   struct argument *argument, enum argument_when when)
{
    const struct type_table *table = &call->image->types.table;
    struct loose loose = { .under = stack->memory };
    uint64_t address = location->value;
    uint64_t size;
    uint8_t last;
    if (value_take_plain(stack, call, location, argument, when))
        return CH_OK;
    if (type_size(table, argument->type, &size) != CH_OK || size == 0) {
        argument->reason = "no-type";
        return CH_ERR_UNSUPPORTED;
    }
    if (location->kind != ARGUMENT_IN_MEMORY) {
        if (size > sizeof(loose.bytes))
            return CH_ERR_UNSUPPORTED;
        enum ch_status status = argument_location_bytes(
            location, &call->frame, stack->memory, loose.bytes, size);
        if (status != CH_OK)
            return status;
        loose.size = (size_t)size;
        address = NOWHERE;
    } else if (memory_read(stack->memory, address + size - 1, &last, sizeof(last)) !=
               CH_OK) {
        return CH_ERR_FAULT;
    }
    argument->values[when] =
        value_make(stack, table, call->image, &loose, argument, address);
    return argument->values[when] != NULL ? CH_OK : CH_ERR_NO_MEMORY;
}
