// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_start.h"

#include <elf.h>
#include <gelf.h>
#include <string.h>

#include "base/memory_reader.h"
#include "symbolizer/names/symbol_table.h"

enum {
    WORD = 8,
    START_BYTES = 64, // _start is shorter than this
    START_CALLS_MAX = 2,
    WORDS_MAX = 1 << 16,
    AUXILIARY_MAX = 64
};

// skip_strings passes over pointers from *at on, including the null that ends them, and
// counts them.
static bool skip_strings(const struct memory_reader *memory, uint64_t *at,
                         uint64_t *out_count)
{
    uint64_t word;
    for (uint64_t count = 0; count < WORDS_MAX; count++) {
        if (memory_read_word(memory, *at, &word) != CH_OK)
            return false;
        *at += WORD;
        if (word == 0) {
            *out_count = count;
            return true;
        }
    }
    return false;
}

// is_entered_at returns true if the auxiliary vector at `at` has entry as the program's
// entry point.
static bool is_entered_at(const struct memory_reader *memory, uint64_t at,
                          uint64_t entry)
{
    uint64_t key;
    uint64_t value;
    for (int i = 0; i < AUXILIARY_MAX; i++, at += 2 * WORD) {
        if (memory_read_word(memory, at, &key) != CH_OK ||
            memory_read_word(memory, at + WORD, &value) != CH_OK || key == AT_NULL)
            return false;
        if (key == AT_ENTRY)
            return value == entry;
    }
    return false;
}

bool argument_start_count(const struct memory_reader *memory, uint64_t stack,
                          uint64_t entry, uint64_t *out_count)
{
    uint64_t said;
    uint64_t count;
    uint64_t variables;
    uint64_t at = stack + WORD;
    if (stack % 16 != 0 || memory_read_word(memory, stack, &said) != CH_OK ||
        !skip_strings(memory, &at, &count) || count != said ||
        !skip_strings(memory, &at, &variables) || !is_entered_at(memory, at, entry))
        return false;
    *out_count = count;
    return true;
}

// start_is_named returns true if call is of the function of that name, by its debug
// information or its symbol.
static bool start_is_named(const struct argument_call *call, const char *name)
{
    Dwarf_Die function = call->function;
    const char *found = call->has_function ? dwarf_diename(&function) : NULL;
    if (found != NULL)
        return strcmp(found, name) == 0;
    return call->image != NULL &&
           symbol_table_has(&call->image->types.files.image, call->vaddr, name);
}

// is_started returns true if call index is main, called as C libraries do.
static bool is_started(const struct argument_stack *stack, size_t index)
{
    const struct argument_call *main_call = &stack->calls[index];
    const struct argument_call *start = &stack->calls[stack->count - 1];
    if (stack->count < index + 3 || stack->count > index + 2 + START_CALLS_MAX ||
        main_call->image == NULL || start->image != main_call->image)
        return false;
    for (const struct argument_call *call = main_call + 1; call < start; call++)
        if (call->image != start[-1].image || call->image == start->image)
            return false;
    return start_is_named(main_call, "main") &&
           start_is_named(start - 1, "__libc_start_main");
}

// start describes how a C library gets from the entry point to main on an architecture.
struct start {
    uint8_t count;   // the register of main's first argument
    uint8_t strings; // ... and of its second
    uint8_t pushed;  // bytes that _start pushes after aligning the stack
};

static const struct start *start_of_arch(const struct unwind_arch *arch)
{
    static const struct start amd64 = { 5, 4, 16 };
    static const struct start aarch64 = { 0, 1, 0 };
    return arch->id == UNWIND_ARCH_AMD64 ? &amd64 : &aarch64;
}

bool argument_start_word(const struct argument_stack *stack, size_t index, unsigned reg,
                         uint64_t *out)
{
    GElf_Ehdr header;
    uint64_t count;
    const struct start *how = start_of_arch(stack->arch);
    if ((reg != how->count && reg != how->strings) || !is_started(stack, index))
        return false;
    const struct argument_call *start = &stack->calls[stack->count - 1];
    Elf *elf = start->image->types.files.image.elf;
    if (elf == NULL || gelf_getehdr(elf, &header) == NULL ||
        start->vaddr - header.e_entry >= START_BYTES ||
        !argument_frame_knows(&start->frame, stack->arch->sp))
        return false;
    uint64_t initial = start->frame.registers.value[stack->arch->sp] + how->pushed;
    if (!argument_start_count(stack->memory, initial,
                              header.e_entry + start->image->bias, &count))
        return false;
    *out = reg == how->count ? count : initial + WORD;
    return true;
}
