// SPDX-License-Identifier: Apache-2.0
#include "agent/languages/jit_descriptor.h"

#include <stdlib.h>

#include "agent/images/image_symbol.h"

// Offsets in the descriptor and in an entry of its list, and what the first has.
enum {
    DESCRIPTOR_VERSION = 1,
    DESCRIPTOR_FIRST = 16,
    ENTRY_NEXT = 0,
    ENTRY_FILE = 16,
    ENTRY_SIZE = 24,
    SYMBOL_FUNCTION = 2,
};

// symbol_address is where a symbol's code is. Of a file that was never linked, the
// value counts from its section, whose address the program fills in.
static bool symbol_address(const struct elf_view *view, const struct elf_symbol *symbol,
                           uint64_t *out)
{
    struct elf_section section = { 0 };
    if (view->header.type == ELF_REL &&
        elf_view_section(view, symbol->section, &section) != CH_OK)
        return false;
    *out = section.vaddr + symbol->value;
    return symbol->section != 0;
}

void jit_descriptor_read_file(const void *bytes, size_t size, struct jitted *jitted)
{
    struct elf_view view;
    struct elf_section section;
    struct elf_section names;
    struct elf_symbol symbol;
    if (elf_view_init(&view, bytes, size) != CH_OK ||
        elf_view_find_section(&view, ".symtab", &section, NULL) != CH_OK ||
        elf_view_section(&view, section.link, &names) != CH_OK)
        return;
    struct cursor symbols = elf_section_cursor(&view, &section);
    for (size_t i = 0; i < JIT_SYMBOLS_MAX; i++) {
        uint64_t address;
        if (elf_next_symbol(&view, &symbols, &symbol) != CH_OK)
            return;
        struct cursor text = elf_section_cursor(&view, &names);
        cursor_seek(&text, symbol.name);
        const char *name = cursor_string(&text);
        if ((symbol.info & 15) == SYMBOL_FUNCTION && name != NULL &&
            symbol_address(&view, &symbol, &address))
            jitted_name(jitted, address, symbol.size, name, "gdb-jit");
    }
}

static void read_jit_list(const struct memory_reader *reader, uint64_t entry,
                          struct jitted *jitted, size_t *left)
{
    for (size_t i = 0; entry != 0 && i < JIT_FILES_MAX; i++) {
        uint64_t file;
        uint64_t size;
        if (memory_read_word(reader, entry + ENTRY_FILE, &file) != CH_OK ||
            memory_read_word(reader, entry + ENTRY_SIZE, &size) != CH_OK ||
            memory_read_word(reader, entry + ENTRY_NEXT, &entry) != CH_OK)
            return;
        if (size == 0 || size > JIT_FILE_BYTES || size > *left)
            continue;
        *left -= (size_t)size;
        uint8_t *bytes = malloc((size_t)size);
        if (bytes != NULL && memory_read(reader, file, bytes, (size_t)size) == CH_OK)
            jit_descriptor_read_file(bytes, (size_t)size, jitted);
        free(bytes);
    }
}

void jit_descriptor_read(const struct memory_reader *reader,
                         const struct target_images *images, struct jitted *jitted)
{
    size_t left = JIT_ALL_BYTES;
    for (size_t i = 0; i < images->count; i++) {
        uint64_t descriptor;
        uint64_t first;
        uint8_t version = 0;
        if (image_symbol_find(reader, &images->images[i], "__jit_debug_descriptor",
                              &descriptor) == CH_OK &&
            memory_read(reader, descriptor, &version, 1) == CH_OK &&
            version == DESCRIPTOR_VERSION &&
            memory_read_word(reader, descriptor + DESCRIPTOR_FIRST, &first) == CH_OK)
            read_jit_list(reader, first, jitted, &left);
    }
}
