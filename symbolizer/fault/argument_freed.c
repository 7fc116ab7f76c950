// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/fault/argument_freed.h"

#include <ctype.h>
#include <string.h>

#include "report/file/held_file.h"
#include "symbolizer/search/debug_search.h"

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
