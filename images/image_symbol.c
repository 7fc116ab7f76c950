// SPDX-License-Identifier: Apache-2.0
#include "images/image_symbol.h"

#include <elf.h>
#include <string.h>

#include "base/cursor.h"
#include "formats/debug/elf_hash.h"
#include "images/link_map.h"

enum { DYNAMIC_MAX = 256, CHAIN_MAX = 4096, NAME_MAX_BYTES = 128 };

// A tables is the addresses of an image's symbol tables.
struct tables {
    uint64_t hash;
    uint64_t symbols;
    uint64_t strings;
};

// place_of_symbol is the address that a dynamic entry refers to. glibc overwrites the
// vaddrs with addresses; other linkers leave them.
static uint64_t place_of_symbol(const struct target_image *image, uint64_t value)
{
    return value < image->base ? value + image->bias : value;
}

static enum ch_status find_tables(const struct memory_reader *reader,
                                  const struct target_image *image, struct tables *out)
{
    struct tables found = { 0 };
    for (unsigned i = 0; i < DYNAMIC_MAX && image->dynamic != 0; i++) {
        uint64_t tag;
        uint64_t value;
        enum ch_status status =
            link_map_dynamic(reader, image->dynamic, i, &tag, &value);
        if (status != CH_OK)
            return status;
        if (tag == DT_NULL)
            break;
        if (tag == DT_GNU_HASH)
            found.hash = place_of_symbol(image, value);
        if (tag == DT_SYMTAB)
            found.symbols = place_of_symbol(image, value);
        if (tag == DT_STRTAB)
            found.strings = place_of_symbol(image, value);
    }
    if (found.hash == 0 || found.symbols == 0 || found.strings == 0)
        return CH_ERR_NOT_FOUND;
    *out = found;
    return CH_OK;
}

static enum ch_status read_symbol_u32(const struct memory_reader *reader,
                                      uint64_t address, uint32_t *out)
{
    uint8_t bytes[4];
    enum ch_status status = memory_read(reader, address, bytes, sizeof(bytes));
    if (status != CH_OK)
        return status;
    struct cursor c = cursor_over(bytes, sizeof(bytes));
    c.big_endian = reader->big_endian;
    *out = cursor_u32(&c);
    return CH_OK;
}

// read_image_symbol reads symbol number. CH_ERR_NOT_FOUND: it is undefined or has
// another name.
static enum ch_status read_image_symbol(const struct memory_reader *reader,
                                        const struct tables *tables, uint32_t number,
                                        const char *name, struct elf_hash_symbol *out)
{
    uint8_t bytes[ELF_HASH_SYMBOL_BYTES];
    char found[NAME_MAX_BYTES];
    uint64_t at = tables->symbols + (uint64_t)number * sizeof(bytes);
    enum ch_status status = memory_read(reader, at, bytes, sizeof(bytes));
    if (status == CH_OK)
        status = elf_hash_read_symbol(bytes, sizeof(bytes), reader->big_endian, out);
    if (status == CH_OK)
        status = memory_read_string(reader, tables->strings + out->name, found,
                                    sizeof(found));
    if (status == CH_OK && (!out->defined || strcmp(found, name) != 0))
        status = CH_ERR_NOT_FOUND;
    return status == CH_ERR_TRUNCATED ? CH_ERR_NOT_FOUND : status;
}

// search_symbols searches the chain of one bucket, whose first symbol is number.
static enum ch_status search_symbols(const struct memory_reader *reader,
                                     const struct tables *tables,
                                     const struct elf_hash_table *table,
                                     uint32_t number, const char *name,
                                     struct elf_hash_symbol *out)
{
    uint32_t hash = elf_hash_name(name);
    if (number < table->first_symbol)
        return CH_ERR_NOT_FOUND;
    for (unsigned i = 0; i < CHAIN_MAX; i++, number++) {
        uint32_t word;
        struct elf_hash_symbol symbol;
        enum ch_status status = read_symbol_u32(
            reader, tables->hash + elf_hash_chain(table, number), &word);
        if (status != CH_OK)
            return status;
        if ((word | 1) == (hash | 1) &&
            read_image_symbol(reader, tables, number, name, &symbol) == CH_OK) {
            *out = symbol;
            return CH_OK;
        }
        if ((word & 1) != 0)
            return CH_ERR_NOT_FOUND;
    }
    return CH_ERR_LIMIT;
}

enum ch_status image_symbol_find_range(const struct memory_reader *reader,
                                       const struct target_image *image,
                                       const char *name, uint64_t *out,
                                       uint64_t *out_size)
{
    struct tables tables;
    struct elf_hash_table table;
    uint8_t header[ELF_HASH_HEADER_BYTES];
    uint32_t number;
    struct elf_hash_symbol symbol;
    enum ch_status status = find_tables(reader, image, &tables);
    if (status == CH_OK)
        status = memory_read(reader, tables.hash, header, sizeof(header));
    if (status == CH_OK)
        status =
            elf_hash_read_table(header, sizeof(header), reader->big_endian, &table);
    if (status == CH_OK)
        status = read_symbol_u32(
            reader, tables.hash + elf_hash_bucket(&table, elf_hash_name(name)),
            &number);
    if (status == CH_OK)
        status = search_symbols(reader, &tables, &table, number, name, &symbol);
    if (status != CH_OK)
        return status;
    *out = image->bias + symbol.value;
    *out_size = symbol.size;
    return CH_OK;
}

enum ch_status image_symbol_find(const struct memory_reader *reader,
                                 const struct target_image *image, const char *name,
                                 uint64_t *out)
{
    uint64_t size;
    return image_symbol_find_range(reader, image, name, out, &size);
}

uint64_t image_symbol_find_in(const struct memory_reader *reader,
                              const struct target_images *images, const char *library,
                              const char *name)
{
    uint64_t address = 0;
    for (size_t i = 0; i < images->count; i++) {
        const struct target_image *image = &images->images[i];
        if (memmem(image->path, image->path_size, library, strlen(library)) != NULL &&
            image_symbol_find(reader, image, name, &address) == CH_OK)
            return address;
    }
    return 0;
}

uint64_t image_symbol_in_file(const struct elf_view *view, const char *name)
{
    struct elf_section section;
    struct elf_section names;
    struct elf_symbol symbol;
    if (elf_view_find_section(view, ".symtab", &section, NULL) != CH_OK ||
        elf_view_section(view, section.link, &names) != CH_OK)
        return 0;
    struct cursor symbols = elf_section_cursor(view, &section);
    while (elf_next_symbol(view, &symbols, &symbol) == CH_OK) {
        struct cursor text = elf_section_cursor(view, &names);
        cursor_seek(&text, symbol.name);
        size_t size = strlen(name) + 1;
        const uint8_t *bytes = cursor_take(&text, size);
        if (bytes != NULL && symbol.section != 0 && memcmp(bytes, name, size) == 0)
            return symbol.value;
    }
    return 0;
}
