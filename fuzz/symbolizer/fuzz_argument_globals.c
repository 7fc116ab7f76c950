// SPDX-License-Identifier: Apache-2.0
//
// The global variables that functions use. The input is the program's file: its code,
// symbols and debug information, and its memory.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "support/fake_memory.h"
#include "symbolizer/arguments/argument_globals.h"
#include "symbolizer/arguments/argument_list.h"

// Where the seed has its code, and what is before it in the file.
enum { CODE = 0x400200, HEADERS = 0xf0, THREAD = CODE + 0x80 };

// list_globals lists those of functions at the start of the code.
static void list_globals(struct argument_stack *stack, struct argument_image *image)
{
    enum { CALLS = 6, BYTES_PER_CALL = 16 };
    struct argument_globals globals = { 0 };
    Dwarf_Die function;
    stack->count = 0;
    for (uint64_t i = 0; i < CALLS; i++) {
        const uint64_t vaddr = CODE + i * BYTES_PER_CALL;
        if (argument_image_function(image, vaddr, &function) != CH_OK)
            continue;
        stack->calls[stack->count++] = (struct argument_call){ .image = image,
                                                               .vaddr = vaddr,
                                                               .resolved = true,
                                                               .has_function = true,
                                                               .function = function };
    }
    for (size_t i = 0; i < stack->count; i++) {
        struct argument_list list;
        argument_list_begin(&list, stack, image);
        argument_globals_list(&globals, stack, i, &list);
        argument_list_end(&list);
        json_decref(list.all);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct argument_stack *stack;
    static const struct symbolizer_options options = { .alone = true };
    const struct fake_region region = { CODE - HEADERS, bytes, size };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    const struct memory_reader reader = fake_memory_reader(&memory);
    struct argument_share share = { 0 };
    struct held_file held = { 0 };
    struct argument_image image = { 0 };
    int fd = memfd_create("program", MFD_CLOEXEC);
    stack = stack != NULL ? stack : argument_stack_create();
    if (stack == NULL || fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    if (type_table_init(&image.types.table) != CH_OK)
        abort();
    image.opened = true;
    const bool is_elf = debug_elf_adopt(&image.types.files.image, fd) == CH_OK;
    stack->arch = &unwind_arch_amd64;
    stack->thread_pointer = THREAD;
    stack->memory = &reader;
    stack->held = &held;
    stack->options = &options;
    stack->share = &share;
    if (is_elf)
        list_globals(stack, &image);
    argument_image_close(&image);
    argument_share_deinit(&share);
    return 0;
}
