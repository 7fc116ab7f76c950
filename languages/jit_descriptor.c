// SPDX-License-Identifier: Apache-2.0
#include "languages/jit_descriptor.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "images/image_symbol.h"

enum { SYMBOL_FUNCTION = 2, JIT_RELOCATIONS_MAX = 1 << 16 };

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

void jit_file_name(const void *bytes, size_t size, struct jitted *jitted)
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

// A jit_relocation is how many bytes a type of relocation fills, and whether with the
// distance from them.
struct jit_relocation {
    uint16_t machine; // enum elf_machine
    uint16_t type;
    uint8_t size;
    bool distance;
};

// find_jit_relocation: the types that assemblers use in call frame information.
static const struct jit_relocation *find_jit_relocation(uint16_t machine, uint32_t type)
{
    static const struct jit_relocation known[] = {
        { ELF_X86_64, 1, 8, false },    { ELF_X86_64, 2, 4, true },
        { ELF_X86_64, 10, 4, false },   { ELF_X86_64, 24, 8, true },
        { ELF_AARCH64, 257, 8, false }, { ELF_AARCH64, 258, 4, false },
        { ELF_AARCH64, 260, 8, true },  { ELF_AARCH64, 261, 4, true },
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].machine == machine && known[i].type == type)
            return &known[i];
    return NULL;
}

static bool relocation_target(const struct elf_view *view,
                              const struct elf_section *symbols, uint32_t number,
                              uint64_t *out)
{
    struct elf_symbol symbol;
    struct cursor c = elf_section_cursor(view, symbols);
    if (symbols->entry_size == 0 || symbols->entry_size > symbols->size)
        return false;
    cursor_seek(&c, (size_t)(number * symbols->entry_size));
    return elf_next_symbol(view, &c, &symbol) == CH_OK &&
           symbol_address(view, &symbol, out);
}

// relocate_section does in bytes, which are the section's, what a table says.
static void relocate_section(const struct elf_view *view,
                             const struct elf_section *table,
                             const struct elf_section *section, uint8_t *bytes)
{
    struct elf_section symbols;
    struct elf_relocation one;
    struct cursor c = elf_section_cursor(view, table);
    if (elf_view_section(view, table->link, &symbols) != CH_OK)
        return;
    for (size_t i = 0; i < JIT_RELOCATIONS_MAX; i++) {
        uint64_t value;
        if (elf_next_relocation(view, true, &c, &one) != CH_OK)
            return;
        const struct jit_relocation *how =
            find_jit_relocation(view->header.machine, one.type);
        if (how == NULL || section->size < how->size ||
            one.offset > section->size - how->size ||
            !relocation_target(view, &symbols, one.symbol, &value))
            continue;
        value += (uint64_t)one.addend;
        if (how->distance)
            value -= section->vaddr + one.offset;
        for (unsigned k = 0; k < how->size; k++)
            bytes[one.offset + k] = (uint8_t)(value >> (8 * k));
    }
}

static void relocate(const struct elf_view *view, const struct elf_section *section,
                     uint32_t number, uint8_t *bytes)
{
    struct elf_section table;
    for (uint32_t i = 0; i < view->header.section_count; i++)
        if (elf_view_section(view, i, &table) == CH_OK && table.type == ELF_SHT_RELA &&
            table.info == number)
            relocate_section(view, &table, section, bytes);
}

static bool find_section(const struct elf_view *view, const char *name, uint8_t *bytes,
                         struct unwind_section *out)
{
    struct elf_section section;
    struct elf_section text = { 0 };
    uint32_t number;
    if (elf_view_find_section(view, name, &section, &number) != CH_OK)
        return false;
    struct cursor c = elf_section_cursor(view, &section);
    if (!cursor_ok(&c) || cursor_left(&c) == 0)
        return false;
    if (view->header.type == ELF_REL)
        relocate(view, &section, number, bytes + section.offset);
    if (elf_view_find_section(view, ".text", &text, NULL) != CH_OK)
        text.vaddr = 0;
    *out = (struct unwind_section){ .bytes = bytes + section.offset,
                                    .size = (size_t)section.size,
                                    .address = section.vaddr,
                                    .text = text.vaddr };
    return true;
}

size_t jit_file_sections(void *bytes, size_t size, struct unwind_section *out)
{
    struct elf_view view;
    size_t count = 0;
    if (elf_view_init(&view, bytes, size) != CH_OK || view.header.big_endian ||
        !view.header.is_64)
        return 0;
    if (find_section(&view, ".eh_frame", bytes, &out[count]))
        count++;
    if (find_section(&view, ".debug_frame", bytes, &out[count]))
        out[count++].debug_frame = true;
    return count;
}

// Offsets in the descriptor and in an entry of its list, and what the first has.
enum {
    DESCRIPTOR_VERSION = 1,
    DESCRIPTOR_FIRST = 16,
    ENTRY_NEXT = 0,
    ENTRY_FILE = 16,
    ENTRY_SIZE = 24,
};

void jit_descriptor_deinit(struct jit_descriptor *jit)
{
    for (size_t i = 0; i < jit->count; i++)
        free(jit->files[i].bytes);
    free(jit->files);
    free(jit->sections);
    *jit = (struct jit_descriptor){ 0 };
}

static void read_jit_file(struct jit_descriptor *jit,
                          const struct memory_reader *reader, uint64_t address,
                          size_t size)
{
    uint8_t *bytes = malloc(size);
    if (bytes != NULL && memory_read(reader, address, bytes, size) == CH_OK &&
        array_reserve(&jit->files, &jit->capacity, jit->count, sizeof(*jit->files)))
        jit->files[jit->count++] = (struct jit_descriptor_file){ bytes, size };
    else
        free(bytes);
}

static void read_jit_list(struct jit_descriptor *jit,
                          const struct memory_reader *reader, uint64_t entry,
                          size_t *left)
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
        read_jit_file(jit, reader, file, (size_t)size);
    }
}

void jit_descriptor_read(struct jit_descriptor *jit, const struct memory_reader *reader,
                         const struct target_images *images)
{
    size_t left = JIT_ALL_BYTES;
    for (size_t i = 0; !jit->read && i < images->count; i++) {
        uint64_t descriptor;
        uint64_t first;
        uint8_t version = 0;
        if (image_symbol_find(reader, &images->images[i], "__jit_debug_descriptor",
                              &descriptor) == CH_OK &&
            memory_read(reader, descriptor, &version, 1) == CH_OK &&
            version == DESCRIPTOR_VERSION &&
            memory_read_word(reader, descriptor + DESCRIPTOR_FIRST, &first) == CH_OK)
            read_jit_list(jit, reader, first, &left);
    }
    jit->read = true;
}

void jit_descriptor_name(const struct jit_descriptor *jit, struct jitted *jitted)
{
    for (size_t i = 0; i < jit->count; i++)
        jit_file_name(jit->files[i].bytes, jit->files[i].size, jitted);
}

size_t jit_descriptor_sections(struct jit_descriptor *jit,
                               const struct unwind_section **out)
{
    size_t count = 0;
    free(jit->sections);
    jit->sections = calloc(jit->count * JIT_FILE_SECTIONS + 1, sizeof(*jit->sections));
    for (size_t i = 0; jit->sections != NULL && i < jit->count; i++)
        count += jit_file_sections(jit->files[i].bytes, jit->files[i].size,
                                   jit->sections + count);
    *out = jit->sections;
    return count;
}
