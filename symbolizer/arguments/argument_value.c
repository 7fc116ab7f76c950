// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_value.h"

#include <string.h>

#include "symbolizer/types/type_value.h"

// NOWHERE is the temporary address of bytes that are not in memory. It is in the
// kernel's half of the address space, where no program has memory.
#define NOWHERE 0xffff800000000000u

enum { LOOSE_MAX = 64 };

// loose is memory with a few extra bytes.
struct loose {
    const struct memory_reader *under;
    uint8_t bytes[LOOSE_MAX];
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

enum ch_status argument_value_make(const struct argument_stack *stack,
                                   const struct argument_call *call,
                                   const struct argument *argument,
                                   const struct argument_location *location,
                                   json_t **out)
{
    const struct type_table *table = &call->image->types.table;
    struct loose loose = { .under = stack->memory };
    const struct memory_reader reader = { .read = read_loose, .source = &loose };
    uint64_t address = location->value;
    uint64_t size;
    uint8_t last;
    if (type_size(table, argument->type, &size) != CH_OK || size == 0)
        return CH_ERR_UNSUPPORTED;
    if (location->kind != ARGUMENT_IN_MEMORY) {
        if (size > sizeof(loose.bytes))
            return CH_ERR_UNSUPPORTED;
        enum ch_status status = argument_location_bytes(
            location, &call->frame, stack->memory, loose.bytes, size);
        if (status != CH_OK)
            return status;
        loose.size = (size_t)size;
        address = NOWHERE;
    } else if (memory_read(&reader, address + size - 1, &last, sizeof(last)) != CH_OK) {
        return CH_ERR_FAULT;
    }
    const struct type_value how = { .table = table,
                                    .memory = &reader,
                                    .home = stack->options->home,
                                    .sanitize = stack->options->sanitize };
    *out = type_value_make(&how, argument->type, address,
                           argument->name != NULL ? argument->name : "");
    return *out != NULL ? CH_OK : CH_ERR_NO_MEMORY;
}
